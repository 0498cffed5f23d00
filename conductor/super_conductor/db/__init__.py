"""The API database of the super conductor: tables and queries, one noun per file."""
