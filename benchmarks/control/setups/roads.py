"""Write speeds on a small road network, as STGCN reads them: `roads.py FOLDER SENSORS`."""

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

folder, sensors = Path(sys.argv[1]), int(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(1)
speeds = 60 + 10 * np.sin(np.arange(150)[:, None] / 7 + np.arange(sensors)) + rng.normal(size=(150, sensors))
np.savetxt(
    folder / "vel.csv", speeds, delimiter=",", header=",".join(map(str, range(sensors))), comments="", fmt="%.3f"
)
near = sp.diags([np.ones(sensors - 1), np.ones(sensors - 1)], [1, -1]).tocsc()
sp.save_npz(folder / "adj.npz", near)
