"""What the benchmarks on a GPU share."""

from __future__ import annotations

import subprocess
import sys


def find_gpu() -> str | None:
    """Return the name of the GPU that torch would train on, None where there is none."""
    ask = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
    found = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return found.stdout.strip() or None
