"""Names: the form of identifiers, and patterns of host names."""
