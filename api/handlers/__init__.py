"""What each request does: unpack, call the super conductor once, pack; one file a noun."""
