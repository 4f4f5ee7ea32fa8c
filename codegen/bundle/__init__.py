"""Bundle: the whole schema as one OpenAPI document that other tools understand, derived from the same YAML."""
