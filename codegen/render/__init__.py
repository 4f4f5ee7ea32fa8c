"""Plain values of the schema, written as Python files."""
