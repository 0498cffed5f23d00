"""Quotas and limits of projects."""
