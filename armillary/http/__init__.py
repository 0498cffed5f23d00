"""HTTP: servers with TLS, and the layer under both APIs from request ID to OpenAPI document."""
