"""Translation of commands and configuration files from Nova."""
