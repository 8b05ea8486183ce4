"""CAM, the hierarchy of overlapping clusters: algorithms on tensors, without SQL and without language."""
