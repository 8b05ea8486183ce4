"""Many users' messages at once, computed in batches, here or by the actors of Ray, and stored as `add` stores them."""

from nscma_torch.features.bulk.adding import BulkReport, bulk_add

__all__ = ["BulkReport", "bulk_add"]
