"""Whether what a message told still holds: effects of later messages, what rests on what, and ends in time."""
