"""The store of all hosts of all cells: its columns, its resync, and which hosts a cell may push."""
