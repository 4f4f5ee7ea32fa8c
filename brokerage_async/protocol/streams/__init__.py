"""Protocols of the two streams, without I/O: frames and time in, frames and events out."""
