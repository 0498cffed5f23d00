"""The compute agent: runs guests on a host and reports its resources and state."""
