"""Ways to reach the brokerage: a loopback port, or memory."""
