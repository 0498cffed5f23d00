"""The cell conductor: owner of a cell's database; builds, deletes and operates its instances."""
