"""Simulated load: requests, streams, recorded loads and the lifecycles of instances."""
