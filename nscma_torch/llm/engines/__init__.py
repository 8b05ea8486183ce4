"""Language models behind one batch-first interface: what they are asked, and what comes back."""
