"""Results of a simulation: measurements, report, plot."""
