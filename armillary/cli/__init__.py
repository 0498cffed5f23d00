"""Console scripts: they build the parts and start them."""
