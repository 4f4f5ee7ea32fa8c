"""The YAML schema, read and checked into plain values."""
