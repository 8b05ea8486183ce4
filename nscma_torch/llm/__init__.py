"""Language models: engines, prompts, and the language tasks by a model; and models as the surprise proxy."""
