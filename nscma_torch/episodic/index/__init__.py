"""Units with their vectors and postings, and the episodic score computed from them."""
