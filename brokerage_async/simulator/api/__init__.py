"""HTTP interface: parsing, routing, one handler class per namespace, response bodies."""
