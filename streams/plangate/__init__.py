"""A gate on Kafka for plans that evict or compress spans of an agent's context window."""

__version__ = "0.1.0"
