"""Books that balance: seeded orders of all kinds, and a second computation of what the accounts must show after them.

The second computation starts from the fills alone. It shares no code with the simulator: `second` states the fees and
margins as its own data, and the multipliers come from the instruments as the service lists them.
"""
