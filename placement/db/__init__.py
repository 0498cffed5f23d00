"""Placement database: tables, and queries in one file per noun."""
