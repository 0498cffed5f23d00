"""A cell's database: its tables, and the queries on them, one file a noun; cell0 has the same."""
