"""Data that the program pins are held as the author pinned them, whatever form the seed has."""

from __future__ import annotations

import textwrap

import pytest
from installed import require
from programs import Run

FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")
DATA = [{"factor": "data", "file": "program.py", "line": 1, "call": ""}]

STANDARD = """
import random
def split():
    for seed in (3, -5, 2**80, "part", b"part", 0.25):
        random.seed(seed)
        print(random.random(), random.gauss(0, 1), random.Random(seed).random())
"""
NUMPY = """
import numpy as np
made = np.random.default_rng(8)
def split():
    print(made.spawn(2)[1].random(), made.spawn(1)[0].random())
    spawned = np.random.SeedSequence(42).spawn(2)
    listed = [7, 1]
    rng = np.random.default_rng(listed)
    listed[0] = 8
    print(rng.random(), rng.integers(100))
    for seed in ((3, 1), np.array([1, 2]), np.int64(3), np.random.SeedSequence([1, 2], spawn_key=(3,)), *spawned):
        print(np.random.default_rng(seed).random())
    for bits in (np.random.PCG64(9), np.random.MT19937([1, 2]), np.random.Philox(key=5), np.random.SFC64(spawned[0]),
                 np.random.PCG64(9).jumped(2)):
        print(np.random.Generator(bits).random())
    for seed in ([42, 0], np.array([1, 2]), 7):
        np.random.seed(seed)
        print(np.random.rand(), np.random.RandomState(seed).rand())
"""
TORCH = """
import torch
def split():
    for seed in (3, -5, 2**40):
        torch.manual_seed(seed)
        print(torch.rand(1).item(), torch.rand(1, generator=torch.Generator().manual_seed(seed + 1)).item())
"""


@pytest.mark.parametrize(
    ("library", "source"), [("", STANDARD), ("numpy", NUMPY), pytest.param("torch", TORCH, marks=pytest.mark.slow)]
)
def test_held_data_are_those_of_the_program_alone(run: Run, library: str, source: str) -> None:
    if library:
        require(library)
    source = textwrap.dedent(source)
    warm = "torch" if library == "torch" else ""
    alone = run(f"{source}\nsplit()\n", runtime=False, warm=warm)
    assert alone.status == 0, alone.stderr
    wrapped = f"{source}\n__dv_draw__(0, split)()\n"
    seeds = dict.fromkeys(FACTORS, 7)
    held, varied = (
        run(wrapped, "program.py", control="streams", seeds=seeds, varying=varying, draws=DATA, warm=way)
        for varying, way in (([], ""), (["data"], warm))
    )
    assert held.stdout == alone.stdout
    assert not set(held.stdout.splitlines()) & set(varied.stdout.splitlines())


@pytest.mark.parametrize(
    ("first", "draw"),
    [
        ("import random; random.seed(3)", "random.randrange"),
        ("import numpy as np; base = np.random.default_rng(4)", "base.integers"),
        ("import numpy as np; np.random.seed(4)", "np.random.randint"),
    ],
)
def test_seeds_that_the_program_draws_are_its_own(run: Run, first: str, draw: str) -> None:
    require("numpy")
    alone = run(f"{first}\nprint({draw}(1 << 30))\n", runtime=False)
    assert alone.status == 0, alone.stderr
    draws = [{"factor": "seed", "file": "program.py", "line": 2, "call": draw}]
    wrapped = f"{first}\nprint(__dv_draw__(0, {draw})(1 << 30))\n"
    seeds = dict.fromkeys(FACTORS, 7)
    assert (
        run(wrapped, "program.py", control="streams", seeds=seeds, varying=["other"], draws=draws).stdout
        == alone.stdout
    )


def test_each_line_that_seeds_held_data_is_kept(run: Run) -> None:
    source = "import random\nrandom.seed(3)\n__dv_draw__(0, random.shuffle)([1, 2])\nrandom.seed(3)\n"
    source += "__dv_draw__(0, random.shuffle)([1, 2])\n"
    outcome = run(source, control="streams", seeds=dict.fromkeys(FACTORS, 7), varying=["init"], draws=DATA)
    (data,) = [event for event in outcome.of("fingerprint") if event["name"] == "data" and event["moment"] == "end"]
    assert {each["line"] for each in data["sources"]} == {2, 4}
