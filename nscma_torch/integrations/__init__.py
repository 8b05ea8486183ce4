"""What this library offers inside others."""
