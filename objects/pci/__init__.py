"""PCI devices: requests, pools, and their names in placement."""
