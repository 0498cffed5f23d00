"""Schemas of quotas."""
