"""Console scripts: wiring and start of each program."""
