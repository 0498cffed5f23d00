"""Disks of guests: images, formats, files, snapshots, and who may reach them."""
