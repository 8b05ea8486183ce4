"""A conversation of eight months and questions about it, written by hand, and the program that runs them."""
