"""The super conductor's workflows, one a file: steps in order, each beside its undo."""
