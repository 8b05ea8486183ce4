"""Language models: engines, prompts, language tasks performed by a model, and causal models as surprise models."""
