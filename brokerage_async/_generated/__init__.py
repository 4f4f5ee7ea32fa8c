"""What is generated from the schema: models, their converters, the operations and the endpoints."""
