"""Generator of the reference pages: operations and objects from the schema, messages and names from the code."""
