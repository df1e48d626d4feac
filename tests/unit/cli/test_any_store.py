"""Whatever runs came out as, no command fails, and each one that another proposes leads on."""

import math
import os
import re
import shlex

import pytest
from click.testing import CliRunner
from compared_sides import write_experiment
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from deviate.cli.main import group
from deviate.source.config import FILE_NAME

pytestmark = pytest.mark.long

GRID = """
[[experiment]]
name = "x"
command = "python train.py"
grid = {lr = [1, 2]}
"""

#: Commands that train nothing, as other commands propose them; ``…`` and NAME are for the reader to fill in.
PROPOSED = re.compile(r"(?:^|\s)deviate ((?:compare|check|plan|report|why|show|logs) [^…]*)$")

COMMANDS = 20

ANY = st.one_of(st.floats(0, 1), st.sampled_from([math.nan, math.inf, -1e12, 1e-12, 0.0, 1.0]))
NAMES = ["base", "a b", "x@lr=1", "x@lr=2", "résumé"]
VARIANTS = ["algo+impl", "control", "init", "impl"]


def columns(runs):
    alike = ANY.map(lambda value: [value] * runs)
    return st.one_of(st.lists(ANY, min_size=runs, max_size=runs), alike)


@st.composite
def stores(draw):
    """What is written of each experiment and kind of variation; runs that give no number of a metric give NaN."""
    metrics = draw(st.lists(st.sampled_from(["test acc", "loss", "x"]), min_size=1, max_size=3, unique=True))
    found = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)):
        kinds = draw(st.one_of(st.just(VARIANTS[:1]), st.permutations(VARIANTS).map(lambda each: each[:3])))
        for variant in kinds:
            runs = draw(st.sampled_from([0, 1, 2, 5, 8]))
            found.append(
                {
                    "name": name,
                    "variant": variant,
                    "samples": {metric: draw(columns(runs)) for metric in metrics},
                    "failed": draw(st.integers(0, 2)) if runs else 1,
                    "drawn": draw(st.sampled_from([None, [f"{k:08x}" for k in range(10)], ["00000007"] * 10])),
                    "aggregate": draw(st.sampled_from(["last", "last", "best"])),
                    "directed": draw(st.booleans()),
                }
            )
    return found


def proposed(text):
    found = [PROPOSED.search(line) for line in text.splitlines()]
    return [tuple(shlex.split(each[1])) for each in found if each and "NAME" not in each[1]]


@given(stores(), st.booleans())
@examples(5)
def test_no_command_fails_and_what_one_proposes_leads_on(tmp_path_factory, experiments, has_grid):
    folder = tmp_path_factory.mktemp("store")
    for each in experiments:
        write_experiment(folder, **each)
    if has_grid:
        (folder / FILE_NAME).write_text(GRID)
    names = list(dict.fromkeys(each["name"] for each in experiments))
    todo = [(), ("list",), *(("report", name) for name in names), ("report", names[0], "-v"), ("why", names[0])]
    todo += [("compare", *names[:2]), ("check", names[0], "--against", names[-1]), ("plan", names[0]), ()]
    seen, led = [], set()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        while todo and len(seen) < COMMANDS:
            words = todo.pop(0)
            done = CliRunner(env={**os.environ, "COLUMNS": "80"}).invoke(group, words)
            assert done.exit_code in (0, 1, 2), words
            # A refusal that is proposed leads nowhere; those of the first words say what to type themselves.
            assert words not in led or isinstance(done.exception, SystemExit | None), (seen, words, done.exception)
            seen.append(words)
            new = [each for each in proposed(done.stdout) if each not in led and each not in seen]
            led.update(new)
            todo += new
