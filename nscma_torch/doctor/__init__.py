"""Check the installation, and the fit of a configuration on a GPU, before anything is loaded."""
