"""Language models behind one batch-first interface of requests and replies."""
