"""PyG is imported here first, where what its import warns of is silenced."""

from __future__ import annotations

from nscma_torch.core.extras import import_torch_geometric

import_torch_geometric("these tests")
