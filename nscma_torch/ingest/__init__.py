"""The write path: weigh a message, index it and commit it."""
