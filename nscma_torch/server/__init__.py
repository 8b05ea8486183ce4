"""Serve one store over HTTP: `nscma serve`. See docs/server.md."""
