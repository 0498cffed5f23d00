"""Payloads of notifications: what third parties are told, each with a version of its own."""
