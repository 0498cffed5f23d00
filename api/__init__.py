"""HTTP API: translates requests to RPC calls; stores nothing and decides nothing."""
