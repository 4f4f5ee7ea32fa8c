"""Decoding of JSON into models, and the handling of rows that do not fit."""
