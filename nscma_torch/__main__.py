"""Run the command line: `python -m nscma_torch`."""

from nscma_torch.cli import main

main()
