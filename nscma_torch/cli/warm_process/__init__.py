"""A process that holds the models for one configuration and forks for each command; see `nscma warm`."""
