"""Real processes on a real broker and real databases, a mix of operations, and a plan of faults."""
