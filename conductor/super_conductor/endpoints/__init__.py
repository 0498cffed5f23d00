"""RPC endpoints of the super conductor, a class a noun; each method unpacks and calls one thing."""
