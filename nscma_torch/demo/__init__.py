"""A handwritten conversation of eight months with questions about it, and the program that runs them."""
