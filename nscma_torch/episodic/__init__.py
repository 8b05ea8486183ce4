"""Layer 3, episodic memory: the message log, and the index that search uses."""
