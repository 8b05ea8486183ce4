"""Every prompt, with the form of its reply: `tasks` and `acting` (the controller's), under one rule for quoted data."""
