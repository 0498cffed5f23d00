"""The scheduler: decides which host an instance goes to, and why."""
