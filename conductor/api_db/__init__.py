"""The API database, owned by the super conductor: its tables, and the queries, one file a noun."""
