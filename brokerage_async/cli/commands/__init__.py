"""Signatures of the commands, which import their implementations when they run: help and completion are quick."""
