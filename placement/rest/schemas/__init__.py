"""JSON Schemas of request bodies and queries, one file a noun."""
