"""The pure core: what is decided, and nothing else.

No clock, no randomness, no I/O, no logging, no topic names. :func:`plangate.core.step.step` takes a window and an
event and gives output records; the same function runs in the worker, in ``plangate replay`` and in tests.
"""
