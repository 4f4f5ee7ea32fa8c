"""What is generated from the schema: models, their converters, the operations and the endpoints."""

SCHEMA: str = "57ae701a6480f3461ca52d576820d46a62359bfcf36060c727dd98cd48b427c4"
"""SHA-256 of the schema that all of this was written from: no change of it goes unnoticed, be it a remark."""
