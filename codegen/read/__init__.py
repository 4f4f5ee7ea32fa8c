"""Reader of the YAML schema: checks it and returns plain values."""
