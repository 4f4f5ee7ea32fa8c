"""Instruments, calendars, prices and quote alerts."""
