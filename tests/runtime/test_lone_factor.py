"""A program that draws for one factor only, which never gives way to another, has a fingerprint all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from installed import require
from programs import FACTORS, Outcome, Run

LOOP = "for epoch in __dv_loop__(range(4)):\n    __dv__(0, float(DRAW))\n"
DRAWS = {
    "random": ("import random\n", "random.random()"),
    "numpy": ("import numpy as np\n", "np.random.randn()"),
    "default_rng": ("import numpy as np\nrng = np.random.default_rng(3)\n", "rng.normal()"),
    "RandomState": ("import numpy as np\nrng = np.random.RandomState(3)\n", "rng.rand()"),
    "Random": ("import random\nrng = random.Random(3)\n", "rng.random()"),
}
END = "import os\nos._exit(0)\n"


def prints(outcome: Outcome) -> dict[str, list[str]]:
    named: dict[str, list[str]] = {}
    for event in outcome.of("fingerprint"):
        named.setdefault(event["name"], []).append(event["digest"])
    return named


def control(run: Run, source: str, other: int = 7, warm: str = "") -> dict[str, list[str]]:
    seeds = {**dict.fromkeys(FACTORS, 7), "other": other}
    return prints(run(source, "program.py", control="streams", seeds=seeds, varying=[], warm=warm))


@pytest.mark.parametrize("name", DRAWS)
def test_one_factor_alone_is_seen_held_and_varied(run: Run, name: str) -> None:
    head, draw = DRAWS[name]
    source = head + LOOP.replace("DRAW", draw)
    first, again, varied = control(run, source), control(run, source), control(run, source, other=8)
    assert set(first) == {"other"}
    assert first == again
    assert set(varied["other"]).isdisjoint(first["other"])


def test_a_process_that_is_ended_has_written_what_it_drew(run: Run) -> None:
    source = "import random\n" + LOOP.replace("DRAW", "random.random()") + END
    assert set(control(run, source)) == {"other"}


LATE = """
import random
for episode in __dv_loop__(range(9)):
    random.random()
    if episode > 3:
        __dv_draw__(0, random.sample)(range(99), 3)
    __dv__(0, 1.0)
"""


@pytest.mark.parametrize("control", ["streams", "observe"])
def test_what_is_drawn_late_is_written_before_a_process_is_ended(run: Run, control: str) -> None:
    draws = [{"factor": "shuffle", "file": "program.py", "line": 6, "call": ""}]
    seeds = dict.fromkeys(FACTORS, 7)
    assert set(prints(run(LATE + END, "program.py", control=control, seeds=seeds, varying=[], draws=draws))) == {
        "shuffle",
        "other",
    }


def test_without_a_main_loop_the_end_tells(run: Run) -> None:
    assert set(control(run, "import random\nprint(random.random())\n")) == {"other"}


def test_a_program_that_draws_nothing_has_none(run: Run) -> None:
    assert control(run, "import random\n" + LOOP.replace("DRAW", "1.0")) == {}


EPISODES = """
import random
actions = 0
for episode in __dv_loop__(range(40)):
    for step in range(__dv_draw__(0, random.randint)(1, 9)):
        actions += random.random()
    __dv__(0, float(actions))
"""


def test_what_generators_were_seeded_with_is_equal_however_often_was_drawn(run: Run) -> None:
    def of_other(init: int) -> dict[str, object]:
        seeds = {**dict.fromkeys(FACTORS, 7), "init": init}
        draws = [{"factor": "init", "file": "program.py", "line": 5, "call": ""}]
        outcome = run(EPISODES, "program.py", control="streams", seeds=seeds, varying=[], draws=draws)
        return [event for event in outcome.of("fingerprint") if event["name"] == "other"][-1]

    one, two = of_other(1), of_other(2)
    assert one["digest"] != two["digest"]
    assert one["seeded"] == two["seeded"]
    assert len(one["series"]) >= 5


def test_without_control_nothing_tells_what_generators_were_seeded_with(run: Run) -> None:
    outcome = run("import random\nrandom.seed(1)\nrandom.random()\n", "program.py", control="observe", seeds=None)
    (event,) = outcome.of("fingerprint")
    assert "seeded" not in event
    assert len(event["series"]) == 1


OPTIMIZERS = """
import sys, torch
parameters = [torch.nn.Parameter(torch.full((2,), float(value))) for value in (1, 2)]
optimizers = [torch.optim.SGD([parameter], lr=0.1) for parameter in parameters]
for optimizer in optimizers[:: int(sys.argv[1])]:
    optimizer.param_groups[0]["params"][0].sum().backward()
    optimizer.step()
"""


def test_weights_are_the_same_in_whichever_order_optimizers_hold_them(run: Run) -> None:
    require("torch")

    def digests(step: str, warm: str) -> dict[str, object]:
        seeds = dict.fromkeys(FACTORS, 7)
        outcome = run(OPTIMIZERS, "program.py", step, control="streams", seeds=seeds, varying=[], warm=warm)
        assert outcome.status == 0, outcome.stderr
        return {event["name"]: event["digest"] for event in outcome.of("fingerprint")}

    one, other = digests("1", ""), digests("-1", "torch")
    assert {"init", "weights"} <= one.keys()
    assert (one["init"], one["weights"]) == (other["init"], other["weights"])
    assert one["init"] != one["weights"]


SHARED_DRAW = "import random\nchosen = random.random()\n"
OWN_GENERATOR = "import random\nown = random.Random()\nfirst = own.random()\n"
#: A library that passes a boundary as it is imported, in which it imports another one.
NESTED = "import random\n__dv_draw__(0, __import__)('inner')\n"
IMPORTED_LATE = """
import random

def forward():
    from {library} import own
    own.random()

for epoch in __dv_loop__(range(4)):
    __dv_draw__(0, forward)()
    __dv__(0, float(epoch))
"""


@pytest.mark.parametrize("library", ["late", "sympy", "late.part"])
@pytest.mark.parametrize(
    ("text", "names"),
    [(OWN_GENERATOR, set()), (NESTED + OWN_GENERATOR, set()), (SHARED_DRAW + OWN_GENERATOR, {"other"})],
    ids=["own", "nested", "shared"],
)
def test_what_a_library_draws_as_a_boundary_imports_it_is_not_of_that(
    run: Run, tmp_path: Path, library: str, text: str, names: set[str]
) -> None:
    file = tmp_path / "site-packages" / (library.replace(".", "/") + ".py")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (tmp_path / "site-packages" / "inner.py").touch()
    draws = [{"factor": "layers", "file": "program.py", "line": 9, "call": ""}]
    outcome = run(
        IMPORTED_LATE.format(library=library),
        "program.py",
        path=(tmp_path / "site-packages",),
        control="streams",
        seeds=dict.fromkeys(FACTORS, 7),
        varying=[],
        draws=draws,
    )
    assert set(prints(outcome)) == names


IMPORTED_FIRST = """
import random
import {library}

def forward():
    {library}.own.random()

for epoch in __dv_loop__(range(4)):
    __dv_draw__(0, forward)()
    __dv__(0, float(epoch))
"""


@pytest.mark.parametrize("control", ["streams", "observe"])
@pytest.mark.parametrize(("library", "names"), [("sympy", set()), ("other_one", {"layers"})])
def test_a_library_may_draw_for_itself_wherever_it_is_called(
    run: Run, tmp_path: Path, library: str, names: set[str], control: str
) -> None:
    file = tmp_path / "site-packages" / f"{library}.py"
    file.parent.mkdir()
    file.write_text("import random\nown = random.Random()\n")
    outcome = run(
        IMPORTED_FIRST.format(library=library),
        "program.py",
        path=(file.parent,),
        control=control,
        seeds=dict.fromkeys(FACTORS, 7),
        varying=[],
        draws=[{"factor": "layers", "file": "program.py", "line": 9, "call": ""}],
    )
    assert set(prints(outcome)) == names


LOADED = """
import torch
from torch.utils.data import DataLoader
generator = torch.Generator().manual_seed(1)
for epoch in __dv_loop__(range(2)):
    for batch in DataLoader(range(9), batch_size=4, shuffle=True, generator=generator):
        __dv__(0, float(batch[0]))
"""


def test_the_order_that_torch_draws_as_an_epoch_ends_is_no_other_draw(run: Run) -> None:
    require("torch")
    assert set(control(run, LOADED, warm="torch")) - {"batches", "examples"} == {"shuffle"}
