"""Console scripts: wiring and start of each program."""

EXIT_CONFIGURATION = 78  # EX_CONFIG of sysexits.h: systemd and people can distinguish it
