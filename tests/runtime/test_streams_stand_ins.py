"""Libraries whose seeds are replaced by where they are given, with stand-ins that have the same functions.

XGBoost and LightGBM, data sets of Hugging Face, splits of PyTorch Geometric and plates of Pyro; the libraries
themselves are large.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from installed import require
from programs import FACTORS, Outcome, Run

BOOSTING = """
def train(params, data, num_boost_round=10):
    return sorted(params.items())
"""

BOOSTED = """
import numpy as np
import {0}
from {0}.sklearn import Model
given = {{"subsample": 0.5}}
print({0}.train(given, None))
print({0}.train(params={{"seed": np.int64(3), "max_depth": 2}}, data=None))
print(Model(random_state=4).fit(), Model(random_state=np.random.RandomState(5)).fit())
print(given)
"""

BOOSTED_MODEL = """
from .{0} import train

class Model:
    def __init__(self, random_state):
        self.random_state = random_state

    def fit(self):
        drawn = hasattr(self.random_state, "randint")
        return train({{"random_state": self.random_state.randint(1000) if drawn else self.random_state}}, None)
"""

DATASET = """
import numpy as np

class Dataset:
    def shuffle(self, seed=None, keep_in_memory=False):
        if seed is None:
            seed = np.random.get_state()[1][0]
            np.random.random()
        return np.random.default_rng(seed).permutation(100).tolist()

    def train_test_split(self, test_size=None, seed=None):
        return self.shuffle(seed)[:3]

    def map(self, function):
        return [function(i) for i in range(3)]
"""

FINGERPRINT = """
import random
fingerprint_rng = random.Random()

class Hasher:
    @classmethod
    def hash_bytes(cls, value):
        return b"".join([value] if isinstance(value, bytes) else value).hex()
"""

CACHED = """
import pickle
from datasets.fingerprint import Hasher
drawing = pickle.dumps(__dv_draw__)
print(pickle.loads(drawing) is __dv_draw__, Hasher.hash_bytes(b"plain"), Hasher.hash_bytes([b"a", b"b"]))
print(Hasher.hash_bytes(drawing) == Hasher.hash_bytes([drawing]))
print(Hasher.hash_bytes(drawing))
"""

PREPARED = """
import random
import sys
from datasets.arrow_dataset import Dataset
from datasets.fingerprint import fingerprint_rng
data = Dataset()
print(data.train_test_split(seed=7), data.shuffle(8)[:3])
print(data.train_test_split(), data.map(function=lambda i: random.random()))
for epoch in __dv_loop__(range(2)):
    print(data.shuffle(seed=epoch)[:3], data.shuffle()[:3])
print(fingerprint_rng.getrandbits(64))
"""


SPLIT = """
import torch

class RandomNodeSplit:
    def forward(self, data):
        return torch.randperm(data).tolist()
"""

NODES = """
import torch
from torch_geometric.transforms.random_node_split import RandomNodeSplit
torch.manual_seed(0)
print(RandomNodeSplit().forward(20))
print(torch.rand(1).item())
"""

PLATE = """
import torch

class _Subsample:
    def sample(self):
        return torch.randperm(20).tolist()
"""

STEPS = """
import torch
from pyro.poutine.subsample_messenger import _Subsample
torch.manual_seed(0)
print(_Subsample().sample())
print(torch.rand(1).item())
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a folder of libraries, as `pip` installs them."""
    return tmp_path / "libraries" / "site-packages"


def write(library: Path, package: str, **modules: str) -> None:
    folder = library / package
    folder.mkdir(parents=True)
    for name, source in {"__init__": "", **modules}.items():
        (folder / f"{name}.py").write_text(source)


def trained(run: Run, source: str, library: Path, vary: str = "", control: str = "streams", warm: str = "") -> Outcome:
    seeds = {factor: 7 + 100 * (factor == vary) for factor in FACTORS} if control == "streams" else None
    varying = [vary] if vary else []
    outcome = run(source, control=control, seeds=seeds, varying=varying, path=(library,), warm=warm)
    assert outcome.status == 0, outcome.stderr
    assert not outcome.of("note"), outcome.of("note")
    return outcome


def lines(outcome: Outcome) -> list[str]:
    return outcome.stdout.splitlines()


@pytest.mark.parametrize(("package", "module"), [("xgboost", "training"), ("lightgbm", "engine")])
def test_trees_grow_by_seeds_of_other(run: Run, library: Path, package: str, module: str) -> None:
    require("numpy")
    write(
        library,
        package,
        **{"__init__": f"from .{module} import train", module: BOOSTING, "sklearn": BOOSTED_MODEL.format(module)},
    )
    source = BOOSTED.format(package)
    plain = lines(run(source, runtime=False, path=(library,)))
    control, again, fitted, split = (lines(trained(run, source, library, vary)) for vary in ("", "", "other", "data"))
    assert control == again == split
    assert all(first != second for first, second in zip(control[:-1], fitted[:-1], strict=True))
    assert control[0] != plain[0]
    assert "('subsample', 0.5)" in control[0]
    # The program's own parameters stay what they are.
    assert control[-1] == fitted[-1] == plain[-1]
    observed = trained(run, source, library, control="observe")
    assert lines(observed) == plain
    seeds = {(event["call"], event["given"], event["line"]) for event in observed.of("seed")}
    train = f"{package}.train"
    assert seeds >= {
        (f"default seed of {train}", "0", 6),
        (f"seed of {train}", "3", 7),
        (f"random_state of {train}", "4", 8),
    }
    # A seed that a model draws from a generator is that generator's matter.
    assert {given for call, given, _ in seeds if call.startswith("random_state of")} == {"4"}


def test_data_sets_are_made_for_data_and_shuffled_for_shuffle(run: Run, library: Path) -> None:
    require("numpy")
    write(library, "datasets", arrow_dataset=DATASET, fingerprint=FINGERPRINT)
    plain = lines(run(PREPARED, runtime=False, path=(library,)))
    control, again, shuffled, split = (
        lines(trained(run, PREPARED, library, vary)) for vary in ("", "", "shuffle", "data")
    )
    assert control[:-1] == again[:-1]
    # Names of cached results are never the same.
    assert control[-1] != again[-1]
    # What the author's seeds split stays as it is while the data are held.
    assert control[0] == plain[0] == shuffled[0] != split[0]
    assert control[1] == shuffled[1] != split[1]
    assert control[2:4] == split[2:4]
    assert all(first != second for first, second in zip(control[2:4], shuffled[2:4], strict=True))


def test_no_run_reads_cached_results_of_a_function_that_drew_in_another(run: Run, library: Path) -> None:
    write(library, "datasets", fingerprint=FINGERPRINT)
    first, second = (lines(trained(run, CACHED, library)) for _ in range(2))
    assert first[:2] == second[:2] == [f"True {b'plain'.hex()} {b'ab'.hex()}", "True"]
    assert first[2] != second[2]
    observed, again = (lines(trained(run, CACHED, library, control="observe")) for _ in range(2))
    assert observed == again


def test_nodes_are_split_for_data(run: Run, library: Path) -> None:
    require("torch")
    write(library, "torch_geometric")
    write(library, "torch_geometric/transforms", random_node_split=SPLIT)
    control, drawn, split = (lines(trained(run, NODES, library, vary, warm="torch")) for vary in ("", "other", "data"))
    assert control[0] == drawn[0] != split[0]
    assert control[1] == split[1] != drawn[1]


def test_rows_of_a_plate_are_chosen_for_shuffle(run: Run, library: Path) -> None:
    require("torch")
    write(library, "pyro")
    write(library, "pyro/poutine", subsample_messenger=PLATE)
    control, drawn, chosen = (
        lines(trained(run, STEPS, library, vary, warm="torch")) for vary in ("", "other", "shuffle")
    )
    assert control[0] == drawn[0] != chosen[0]
    assert control[1] == chosen[1] != drawn[1]


def test_a_generator_of_c_follows_the_number_that_seeds_it(run: Run, library: Path) -> None:
    source = """
import ctypes
import random
random.seed(0)
libc = ctypes.CDLL(None)
libc.srand(random.getrandbits(31))
print([libc.rand() for _ in range(3)])
"""
    control, again, drawn, split = (lines(trained(run, source, library, vary)) for vary in ("", "", "other", "data"))
    assert control == again == split
    assert control != drawn
