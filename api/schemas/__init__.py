"""What requests may hold and what answers do hold, as JSON schemas (2020-12); one file a noun."""
