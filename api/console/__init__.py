"""The web console: its page, its sessions, and the cookie that stands for a token."""
