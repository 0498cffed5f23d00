"""Host states: the store of all hosts, the host table of a decision, and their columns."""
