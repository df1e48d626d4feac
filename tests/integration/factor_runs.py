"""Runs of a program in which chosen factors have other seeds, and what their fingerprints say.

`DEVIATE_MATRIX=full` varies each factor alone in every cell of every matrix, which takes several times as long; without
it, factors vary in fewer runs, together, and nothing that leaks from one into another stays unseen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from forking import Parent

PROGRAMS = Path(__file__).parent / "factor_programs"
INJECTED = Path(__file__).parents[2] / "src" / "deviate" / "runtime" / "injected"

#: The factors that have seeds, each with one that no other has.
FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")
SEEDS = {factor: 1000 + index for index, factor in enumerate(FACTORS)}


FULL = os.environ.get("DEVIATE_MATRIX") == "full"


@dataclass(frozen=True)
class Trained:
    """One run."""

    output: str
    #: Digest of each factor's fingerprints over all processes.
    prints: dict[str, str]
    events: list[dict[str, Any]]

    @property
    def sha(self) -> str:
        return next((line.split()[1] for line in self.output.splitlines() if line.startswith("sha ")), "")

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]

    def sources(self, name: str) -> list[dict[str, Any]]:
        lists = [event["sources"] for event in self.of("fingerprint") if event["name"] == name]
        return [source for sources in lists for source in sources]

    def differs_from(self, other: Trained) -> set[str]:
        """Names of the factors whose fingerprints differ; what follows from them is no factor."""
        names = {*self.prints, *other.prints} & set(FACTORS)
        return {name for name in names if self.prints.get(name) != other.prints.get(name)}


def read_run(folder: Path) -> Trained:
    events, prints = [], {}
    for path in sorted(folder.glob("events-*.jsonl")):
        moments: dict[str, dict[str, str]] = {}
        for event in map(json.loads, path.read_text().splitlines()):
            events.append(event)
            if event["event"] == "fingerprint":
                moments.setdefault(event["name"], {})[event["moment"]] = event["digest"]
        for name, digests in moments.items():
            prints.setdefault(name, []).append(digests.get("end") or digests["first"])
    joined = {name: f"{zlib.crc32(' '.join(sorted(digests)).encode()):08x}" for name, digests in prints.items()}
    return Trained((folder / "output").read_text(), joined, events)


def settings(folder: Path, seeds: dict[str, int] | None, **config: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "records": str(folder),
        "original": "/nowhere",
        "overlay": str(PROGRAMS),
        "kept": [],
        "control": "streams" if seeds else "observe",
        "seeds": seeds,
        "varying": [factor for factor in FACTORS if seeds and seeds[factor] != SEEDS[factor]],
        "draws": [],
        "strict": False,
        "bit": None,
        "hold_impl": True,
        "threads": 1,
        "metrics": [],
        **config,
    }


def environment(**further: str) -> dict[str, str]:
    unwanted = ("PYTHON", "DEVIATE", "RANK", "SLURM", "OMPI", "PMI", "LOCAL_RANK")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
    return {**kept, **fixed, "PYTHONPATH": str(INJECTED), "DEVIATE_DEBUG": "1", **further}


class Zygote(Parent):
    """Runs programs in forks of a process that has their libraries, with a folder of its own for each."""

    def __init__(self, folder: Path, *modules: str, path: Path, **variables: str) -> None:
        self.folder = folder
        self.count = 0
        super().__init__(modules, environment(**variables), path)

    def run(
        self, program: str, words: Sequence[object], seeds: Iterable[dict[str, int] | None], **config: Any
    ) -> list[Trained]:
        """Run `program` once for each set of seeds."""
        jobs, folders = [], []
        for each in seeds:
            self.count += 1
            folder = self.folder / f"run-{self.count}"
            folder.mkdir()
            folders.append(folder)
            (folder / "runtime.json").write_text(json.dumps(settings(folder, each, **config)))
            jobs.append(
                {
                    "runtime": str(folder / "runtime.json"),
                    "program": str(PROGRAMS / program),
                    "words": list(map(str, words)),
                    "folder": str(folder),
                    "output": str(folder / "output"),
                    "errors": str(folder / "output"),
                }
            )
        self.run_jobs(jobs)
        return [read_run(folder) for folder in folders]


#: What a process has imported from which runs of several files are forked, and the variables it has. All of a session
#: that need the same share one: a framework takes seconds to import.
FAMILIES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "numpy": (("numpy.random", "random"), {}),
    "sklearn": (("sklearn.ensemble", "sklearn.model_selection"), {}),
    "torch": (("numpy", "torch._dynamo", "sklearn.metrics"), {}),
    "trainers": (
        ("numpy", "torch._dynamo", "lightning", "torchmetrics", "accelerate", "transformers.trainer"),
        {"HF_HUB_OFFLINE": "1"},
    ),
    "tensorflow": (("tensorflow", "keras"), {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}),
    "jax": (
        ("jax", "tensorflow", "keras", "flax.nnx", "flax.linen", "optax"),
        {"KERAS_BACKEND": "jax", "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
    ),
    "keras on torch": (
        ("numpy", "torch", "tensorflow", "keras"),
        {"KERAS_BACKEND": "torch", "TF_CPP_MIN_LOG_LEVEL": "3"},
    ),
}


class Zygotes:
    """A process for each family, started when it is first asked for; `shared` is the folder of the session."""

    def __init__(self, folder: Path, shared: Path) -> None:
        self.folder, self.shared = folder, shared
        self.started: dict[str, Zygote] = {}

    def __getitem__(self, family: str) -> Zygote:
        if family not in self.started:
            modules, variables = FAMILIES[family]
            folder = self.folder / family
            folder.mkdir()
            there = [module for module in modules if find_spec(module.partition(".")[0])]
            self.started[family] = Zygote(folder, *there, path=self.shared / family, **variables)
        return self.started[family]

    def close(self) -> None:
        for each in self.started.values():
            each.close()


@contextmanager
def zygote(folder: Path, *modules: str, **variables: str) -> Iterator[Zygote]:
    # A path of a socket is short.
    with TemporaryDirectory() as place:
        started = Zygote(folder, *modules, path=Path(place) / "zygote", **variables)
        try:
            yield started
        finally:
            started.close()


def run_command(folder: Path, command: Sequence[object], seeds: dict[str, int] | None, **config: Any) -> Trained:
    """Run a command in processes of its own."""
    folder.mkdir()
    (folder / "runtime.json").write_text(json.dumps(settings(folder, seeds, **config)))
    variables = environment(DEVIATE_RUNTIME=str(folder / "runtime.json"))
    words = [sys.executable, *map(str, command)]
    with (folder / "output").open("w") as output:
        subprocess.run(
            words, cwd=folder, env=variables, stdout=output, stderr=subprocess.STDOUT, timeout=120, check=False
        )
    return read_run(folder)


def other(*factors: str, again: int = 1) -> dict[str, int]:
    """Return the seeds with other ones for `factors`."""
    return with_seeds(dict.fromkeys(factors, again))


def varied(factors: Sequence[str]) -> list[dict[str, int]]:
    """Return the factors that have another seed in each run, and which one: runs in which some vary together, or alone.

    Of up to six factors each varies in two of four runs, and for any other one there is a run in which that one varies
    without it: a seed that moves a fingerprint of another factor moves it in a run in which it must stay.
    """
    if FULL:
        alone = [{factor: again} for factor in factors for again in (1, 2)]
        return [*alone, dict.fromkeys(FACTORS[:-1], 1)]
    if len(factors) < 4:
        return [{factor: 1} for factor in factors]
    runs: list[dict[str, int]] = [{} for _ in range(4)]
    for factor, pair in zip(factors, combinations(runs, 2), strict=False):
        for again, run in enumerate(pair, 1):
            run[factor] = again
    return runs


def matrix(factors: Sequence[str] = FACTORS) -> list[dict[str, int]]:
    """Return the seeds of two control runs, and of those in which `factors` vary."""
    return [SEEDS, SEEDS, *map(with_seeds, varied(factors))]


def with_seeds(chosen: dict[str, int]) -> dict[str, int]:
    return {factor: seed + 5000 * chosen.get(factor, 0) for factor, seed in SEEDS.items()}


def check_matrix(
    runs: Sequence[Trained],
    present: set[str],
    factors: Sequence[str] = FACTORS,
    shaping: Sequence[str] | None = ("data",),
) -> None:
    """Assert that each factor changes its own fingerprint and no other one, and those `shaping` the examples.

    None: digests of examples do not tell, since sets that share most of their rows count as equal.
    """
    control, again, *others = runs
    assert control.sha, control.output
    assert set(control.prints) & set(FACTORS) == present, control.prints
    assert (again.sha, again.prints) == (control.sha, control.prints)
    plan = varied(factors)
    for run, chosen in zip(others, plan, strict=True):
        moved = set(chosen) & present
        assert run.differs_from(control) == moved, (chosen, run.prints, control.prints)
        if shaping is not None and "examples" in control.prints:
            same = run.prints.get("examples") == control.prints["examples"]
            assert same is moved.isdisjoint(shaping), (chosen, run.prints, control.prints)
        if len(moved) > 1:
            assert run.sha != control.sha, chosen
    for factor in present & set(factors):
        seen = {run.prints[factor] for run, chosen in zip(others, plan, strict=True) if factor in chosen}
        assert len(seen) >= len({chosen[factor] for chosen in plan if factor in chosen}), factor
