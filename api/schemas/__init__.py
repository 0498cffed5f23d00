"""JSON schemas (2020-12) of requests and responses; one file per noun."""
