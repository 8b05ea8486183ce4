"""What is installed, and whether a configuration fits a card, before anything is loaded."""
