"""The write path: apply the gate to a message, index it and commit it."""
