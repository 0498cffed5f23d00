"""The agent's journal: commands and reports in a SQLite file, written before they are acted on."""
