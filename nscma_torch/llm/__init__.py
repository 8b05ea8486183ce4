"""Language: the tasks that the system needs, by rules and evidence alone, or by a model behind an engine."""
