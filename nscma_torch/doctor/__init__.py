"""Check the installation, and whether a configuration fits on a GPU, before anything is loaded."""
