"""Customers and their accounts: cash, positions, transactions, margin."""
