"""Is there a Docker engine, and the broker's image? As a program: status 0, or the reason on standard output."""

import os
import sys

import docker
from docker.errors import DockerException, ImageNotFound

# The side container that cleans up after a killed run is one more image to pull; testcontainers reads this on import.
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
KAFKA_IMAGE = os.environ.get("KAFKA_IMAGE", "apache/kafka:4.4.0")


def missing_engine() -> str | None:
    """Why no container can be started here; None if one can."""
    try:
        client = docker.from_env(timeout=20)
        client.ping()
    except DockerException:
        return "no Docker engine answers"
    client.close()
    return None


def fetch_image(name: str) -> str | None:
    """Pull the image unless it is there. Why it can't be had; None if it is there now."""
    client = docker.from_env(timeout=600)
    try:
        client.images.get(name)
    except ImageNotFound:
        try:
            client.images.pull(name)
        except DockerException:
            return f"a Docker engine answers, but the image {name} is not there and can't be pulled"
    finally:
        client.close()
    return None


if __name__ == "__main__":
    if reason := missing_engine() or fetch_image(KAFKA_IMAGE):
        print(reason)
        sys.exit(1)
