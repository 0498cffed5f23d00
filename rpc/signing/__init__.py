"""Messages that prove who sent them: keys, the list of those that are trusted, seals, replays.

Each process signs with a key of its own; the trust list, signed by an operator's root key, says
which key belongs to which process. See docs/operating/signing.md and ADR 12.
"""
