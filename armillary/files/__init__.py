"""Files: those that only their owner may read, their locks and state, and strict YAML."""
