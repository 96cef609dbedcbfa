"""Whole workers on a Kafka broker in a container, each in a process of its own."""
