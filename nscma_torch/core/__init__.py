"""Records, errors, configuration, the database and the job queue, on which all other packages build."""
