"""Other ways to do the worker's job: each decides with the product's own engine, so only the plumbing differs."""
