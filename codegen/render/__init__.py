"""Renderers of the generated Python files."""
