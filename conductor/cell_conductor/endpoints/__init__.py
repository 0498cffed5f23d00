"""RPC endpoints of a cell conductor that only start work or query; see ``CellConductorAPI``."""
