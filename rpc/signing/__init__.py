"""Message signing: keys, trust lists, signed envelopes, and replay protection.

Each process signs with its own key. The trust list, signed by an operator's root key, maps keys to
processes. See docs/operating/signing.md and ADR 12.
"""
