"""Add many users' messages at once: computed in batches, here or by Ray actors, and stored like those passed to
`add`.
"""

from nscma_torch.features.bulk.adding import BulkReport, bulk_add

__all__ = ["BulkReport", "bulk_add"]
