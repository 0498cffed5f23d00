"""Serial consoles of guests: one-time tokens, and the port where they are presented."""
