"""Rules that read statements, questions and coreferences from text, and language tasks that need no language model."""
