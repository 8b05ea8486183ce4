"""One store over HTTP: `nscma serve`. See README.md in this folder."""
