"""What a cell conductor is asked over RPC: each endpoint unpacks, calls one thing, and packs.

See ``CellConductorAPI`` for what they promise. They are parts of one manager, which makes what they
work with.
"""
