"""Records, errors, configuration, the database and the job queue: the floor that everything stands on."""
