"""How a question is answered: from facts held against newer messages, and from passages."""
