"""Effects: what knows a network, a clock or a file. Bytes come in, the wire and the core decide, bytes go out."""
