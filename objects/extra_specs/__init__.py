"""Extra specs: the known keys, their operators, and queries on hosts."""
