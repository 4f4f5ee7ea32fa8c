"""What a service does otherwise than the schema and the list of behaviour say: the questions of ``conformance``."""
