"""Log lines: one line each, without secrets, and few of them in an outage."""
