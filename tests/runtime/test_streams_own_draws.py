"""Draws in the program's own files: of their factor, or of the boundary that the program is in."""

from __future__ import annotations

import pytest
from programs import Outcome, Run

FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")
SOURCE = """
import random
def fetch():
    return __dv_draw__(1, random.random)(), __dv_draw__(2, random.random)()
print(*__dv_draw__(0, fetch)(), __dv_draw__(1, random.random)())
"""
#: A fetch, an undecided draw and one that was set to be of `other`.
DRAWS = [{"factor": factor, "file": "program.py", "line": 4, "call": ""} for factor in ("augment", "", "other")]


def drawn(run: Run, vary: str) -> Outcome:
    seeds = {factor: 7 + 100 * (factor == vary) for factor in FACTORS}
    return run(SOURCE, "program.py", control="streams", seeds=seeds, varying=[vary] if vary else [], draws=DRAWS)


@pytest.mark.parametrize(("vary", "moved"), [("augment", [True, False, False]), ("other", [False, True, True])])
def test_an_undecided_draw_is_of_the_boundary_that_the_program_is_in(run: Run, vary: str, moved: list[bool]) -> None:
    held, varied = drawn(run, "").stdout.split(), drawn(run, vary).stdout.split()
    assert [one != other for one, other in zip(held, varied, strict=True)] == moved


def test_undecided_draws_are_noted_for_what_they_draw_for(run: Run) -> None:
    noted = [(event["site"], event["factor"]) for event in drawn(run, "").of("draw")]
    assert noted == [(0, "augment"), (1, "augment"), (2, "other"), (1, "other")]


EPOCHS = """
import random
import sys
import deviate_runtime
from deviate_runtime.streams.callers import iterate
streams = deviate_runtime.process.streams
kept = random.random
def items():
    order = random.sample(range(99), 3)
    for position in range(50):
        yield order
for epoch in range(3):
    print([*iterate(streams, "shuffle", items(), once=sys.argv[1:] == ["once"])][-1])
    print(random.gauss(0, 1), random.choice("abcdef"), random.getrandbits(70), kept())
"""


def test_items_that_draw_nothing_need_no_switch(run: Run) -> None:
    """Draws and fingerprints are those of a switch for each item."""
    seeds = dict.fromkeys(FACTORS, 7)
    each, once = (run(EPOCHS, "program.py", *how, control="streams", seeds=seeds) for how in ((), ("once",)))
    assert each.stdout == once.stdout
    assert each.of("fingerprint") == once.of("fingerprint") != []
