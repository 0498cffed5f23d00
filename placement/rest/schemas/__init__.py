"""What requests may hold: a JSON Schema for each kind of body and query, one file a noun."""
