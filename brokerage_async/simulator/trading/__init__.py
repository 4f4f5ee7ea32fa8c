"""Orders from preflight to fill: checks, order book entries, exchange, fees, bookings."""
