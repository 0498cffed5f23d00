"""Decision traces: why a scheduling decision came out so, and its sentence."""
