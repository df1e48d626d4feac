"""Write sensor readings of engines that wear out, as NASA's turbofan files have them: `engines.py FOLDER`."""

import random
import sys
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
draw = random.Random(1)


def table(engines, cycles):
    """Return lines of 26 columns with two empty ones at the end."""
    for engine in range(1, engines + 1):
        for cycle in range(1, cycles + 1):
            values = [f"{draw.random() + cycle / cycles:.3f}" for _ in range(24)]
            yield " ".join([str(engine), str(cycle), *values]) + "  "


(folder / "PM_train.txt").write_text("\n".join(table(6, 90)) + "\n")
(folder / "PM_test.txt").write_text("\n".join(table(4, 80)) + "\n")
(folder / "PM_truth.txt").write_text("\n".join(f"{draw.randint(5, 60)} " for _ in range(4)) + "\n")
