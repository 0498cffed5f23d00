"""What the agent is told to do: queued per instance, executed once, answered."""
