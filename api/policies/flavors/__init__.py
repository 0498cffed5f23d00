"""Policies of flavors."""
