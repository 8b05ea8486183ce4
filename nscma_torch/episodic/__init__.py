"""Layer 3, episodic memory: the log of messages, and the index that search reads."""
