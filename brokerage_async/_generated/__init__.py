"""What is generated from the schema: models, their converters, the operations and the endpoints."""

SCHEMA: str = "97e291792367e6d1ecdcd737e6f49c79f870e7218ab764f36c7e18a4addc1eec"
"""SHA-256 of the schema that all of this was written from: no change of it goes unnoticed, be it a remark."""
