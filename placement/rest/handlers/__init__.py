"""The routes' handlers, one file a noun."""
