"""Servers: their life, actions, metadata, tags, groups, key pairs, moves."""
