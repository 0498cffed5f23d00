"""Access to an API: connections, errors, and where a client finds its address and token."""
