"""The placement database: its tables, and one file of queries a noun."""
