"""The HTTP front door: translates requests to RPC, writes nothing, decides nothing."""
