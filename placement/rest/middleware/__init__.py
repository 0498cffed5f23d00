"""What happens to every request of the REST API."""
