"""Answer questions from facts, held against newer messages, and from passages."""
