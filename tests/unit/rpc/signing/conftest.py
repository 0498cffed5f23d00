"""Fixtures of signed messages."""

from tests.unit.rpc.signing.signed_ledger import authority, make_bus, serve, url

__all__ = ["authority", "make_bus", "serve", "url"]
