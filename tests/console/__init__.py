"""The web console, in Chromium, against a running deployment."""
