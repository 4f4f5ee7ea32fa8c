"""Instruments, exchange calendars, trading hours, prices and quote alerts."""
