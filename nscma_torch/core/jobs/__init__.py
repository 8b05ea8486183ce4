"""The job queue: jobs, leases and the worker that runs them."""
