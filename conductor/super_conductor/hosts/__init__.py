"""Cells and hosts as the super conductor knows them: cells, discovery, host views, metadata."""
