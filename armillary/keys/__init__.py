"""Secret keys that processes share, and short texts signed with them."""
