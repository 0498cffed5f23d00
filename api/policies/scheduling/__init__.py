"""Policies of scheduling."""
