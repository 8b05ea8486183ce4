"""The standing of messages: effects of later messages on earlier ones, what rests on what, and what still holds."""
