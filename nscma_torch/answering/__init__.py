"""Answer questions from facts, checked against newer messages, and from passages."""
