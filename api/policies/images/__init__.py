"""Images and their metadata."""
