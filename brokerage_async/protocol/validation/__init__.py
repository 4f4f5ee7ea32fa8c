"""Checks of a request before anything is sent."""
