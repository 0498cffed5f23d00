"""The database of a cell, or of cell0: tables and queries, one noun per file."""
