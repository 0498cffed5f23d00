"""What the super conductor answers, one class a noun; each method unpacks and calls one thing."""
