"""Handlers: unpack the request, call the super conductor once, pack; one file per noun.

Each file ends with the routes of its noun.
"""
