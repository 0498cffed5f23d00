"""RPC endpoints of a cell conductor: each method unpacks, calls one thing, and packs.

``CellConductorAPI`` documents their contracts. They are mixins of one manager, which creates the
objects that they call.
"""
