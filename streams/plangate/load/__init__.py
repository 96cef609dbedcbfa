"""Load generator: simulated agents that play real transcripts to a gate, and an account of what it answered.

Pure but for `bus` (Kafka), `scrape` (the workers' metrics) and `run` (the clock that joins all).
"""
