"""Super and cell conductors: owners of the API and cell databases and of every workflow."""
