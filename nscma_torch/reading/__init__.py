"""What a text says, by rules: statements, questions, coreference; and the language tasks without a language model."""
