"""Packed forms: many objects in one message, as columns and shared rows."""
