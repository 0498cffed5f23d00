"""Claims and pools: resources of other kinds than hosts."""
