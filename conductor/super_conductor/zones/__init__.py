"""Zones in the super conductor: links to child zones, requests from parents, cross-zone builds."""
