"""Live events: followers of the feed, and what is kept for those whose connection broke."""
