"""Models, converters, operations and endpoints, generated from the schema."""

SCHEMA: str = "3f05620e54d3d56910a0dfed5a7a76cf3760f0af62ec2ed20638a9c9c234d5a7"
"""SHA-256 of the schema files, comments included: any edit makes the generated files stale."""
