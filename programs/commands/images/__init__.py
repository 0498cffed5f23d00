"""Commands on images and their data."""
