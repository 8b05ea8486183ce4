"""A forked child computes, whatever threads its parent's torch has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKS = """
import os, threading
import nscma_torch.api.memory
import torch
torch.set_num_threads(2)

def compute():
    torch.zeros(64, 4096).index_add(0, torch.arange(64), torch.ones(64, 4096))
    (torch.ones(300, 300) @ torch.ones(300, 300)).exp().sum()

torch.randn(1_000_000).exp().sum()
compute()
if (child := os.fork()) == 0:
    compute()
    beside = threading.Thread(target=compute)
    beside.start()
    beside.join()
    os._exit(torch.get_num_threads())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.get_num_threads())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_does_not_wait_for_its_parents_threads() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    got = subprocess.run(
        [sys.executable, "-c", FORKS], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert got.stdout.split() == ["1", "2"]
