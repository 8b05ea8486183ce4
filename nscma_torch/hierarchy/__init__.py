"""CAM, the hierarchy of overlapping clusters: algorithms on tensors, independent of SQL and language."""
