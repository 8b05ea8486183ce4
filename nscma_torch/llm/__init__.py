"""Language: the tasks that the system needs, here by rules and evidence alone."""
