"""What a request asks for: groups, the resource query, and placement's candidates."""
