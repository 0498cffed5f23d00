"""Super and cell conductors: they own the API and cell databases and run every workflow."""
