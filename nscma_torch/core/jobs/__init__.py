"""The queue of background work: jobs, leases and the worker that runs them."""
