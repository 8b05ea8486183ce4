"""Language models behind one batch-first interface: requests and replies."""
