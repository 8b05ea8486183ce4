"""Rules that read statements, questions and coreference from text, and the language tasks without a language model."""
