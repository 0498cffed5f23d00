"""Middleware of the Compute API: authentication, bodies, projects in paths, mounts, idempotency."""
