"""The ledger: allocations, claims and their commits, and what may be taken of an inventory."""
