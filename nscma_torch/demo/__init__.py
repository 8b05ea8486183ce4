"""A handwritten conversation over eight months with questions about it, and the program that runs them."""
