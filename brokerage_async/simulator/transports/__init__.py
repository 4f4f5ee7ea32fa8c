"""Ways to reach the brokerage: a loopback HTTP server and an in-memory transport."""
