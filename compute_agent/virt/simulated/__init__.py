"""The simulated driver: hosts and instances on which nothing runs."""
