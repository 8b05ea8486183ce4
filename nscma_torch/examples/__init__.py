"""Short programs, one for each way to use the library: `python -m nscma_torch.examples.chat_memory` runs the first."""
