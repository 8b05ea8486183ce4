"""Short example programs, one for each way to use the library. Run one with `python -m
nscma_torch.examples.chat_memory`.
"""
