"""Interfaces and file formats of other memories, over this one."""
