"""A tree of zones in one process: real decisions, and measured traffic between zones."""
