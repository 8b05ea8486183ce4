"""`python -m nscma_torch` is the command line."""

from nscma_torch.cli import main

main()
