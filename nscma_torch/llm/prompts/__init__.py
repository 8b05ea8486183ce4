"""All prompts, with the forms of their replies: `tasks` and `acting` (the controller's), with one rule
for quoted data.
"""
