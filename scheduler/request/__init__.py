"""Translation of a request for placement: groups, the resource query, and its candidates."""
