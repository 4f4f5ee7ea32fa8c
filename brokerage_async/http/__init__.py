"""Sending: sessions, calls, lanes, transports and pagers."""
