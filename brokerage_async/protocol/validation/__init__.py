"""Validation of requests before anything is sent."""
