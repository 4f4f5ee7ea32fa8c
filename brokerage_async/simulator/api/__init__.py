"""Requests and responses: one class per namespace, one method per operation."""
