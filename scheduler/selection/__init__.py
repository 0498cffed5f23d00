"""Selection: choosing hosts, assumed placements, claims, alternates, and the answer."""
