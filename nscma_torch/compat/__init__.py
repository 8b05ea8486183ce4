"""Interfaces and file formats of other memory systems, on top of this one."""
