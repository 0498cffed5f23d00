"""Display for people and programs: tables, values, progress."""
