"""Policies of servers."""
