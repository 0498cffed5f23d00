"""A host: what it has and what is taken of it, its topology, claims, provider files."""
