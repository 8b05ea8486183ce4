"""Language models: engines, prompts, and the language tasks by a model; and causal models as the surprise model."""
