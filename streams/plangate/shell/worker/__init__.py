"""The Faust side: its group membership, its rebalances, its agent. No other module imports faust."""
