"""Customers, their accounts, and the rules of margin."""
