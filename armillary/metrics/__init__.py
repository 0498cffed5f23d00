"""Metrics and traces of all services, and the figures that heartbeats carry."""
