"""Commands to the agent: queued per instance, executed once, answered."""
