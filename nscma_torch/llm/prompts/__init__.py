"""All prompts with the forms for their replies: `tasks`, and `acting` for the controller. All share one rule for quoted
data.
"""
