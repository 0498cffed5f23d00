"""Policies of quotas."""
