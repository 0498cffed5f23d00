"""Files: those that only their owner may read, umask and state, and strict YAML."""
