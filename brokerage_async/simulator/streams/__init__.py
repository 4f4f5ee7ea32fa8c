"""Streams of the simulator, without I/O: the server's side of both protocols."""
