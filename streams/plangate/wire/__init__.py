"""Bytes to core and back, still without I/O: decoding, canonical output, redaction, signatures, changelog state."""
