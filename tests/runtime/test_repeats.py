"""A program that draws the same numbers again while it trains is told, with the line; one that means to is not."""

from __future__ import annotations

import textwrap

import pytest
from installed import require
from programs import Run

#: Observed only, as an audit does it, and controlled.
MODES = {"observed": {"control": "observe"}, "controlled": {}}


@pytest.fixture
def again(run: Run):
    """Run a program; return the lines that repeat, each with what it repeats."""

    def run_program(source: str, mode: str = "controlled", warm: str = ""):
        outcome = run(textwrap.dedent(source), seed=5, warm=warm, **MODES[mode])
        assert (outcome.status, outcome.stderr, outcome.of("note")) == (0, "", [])
        return {event["line"]: event.get("iterations") or event["passes"] for event in outcome.of("again")}

    return run_program


LEAKS = """
import random
def preview(): {preview}
def train(seed):
    random.seed(seed)
    for step in __dv_loop__(range(8)):
        {step}
        if step % 3 == 2: preview()
for seed in ({seeds}): train(seed)
"""

LEAK = {"preview": "random.seed(9); random.random()", "step": "random.random()", "seeds": "1,"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {3: [3, 6]}),
        ({"seeds": "1, 1", "preview": "pass"}, {5: [0, 8]}),
        ({"preview": "pass", "step": "random.seed(0); random.random()"}, {7: [0, 1]}),
        # Another seed each time, a state that is restored, a generator of its own, nothing drawn beside the preview.
        ({"seeds": "1, 2", "preview": "pass", "step": "random.seed(seed * 100 + step); random.random()"}, {}),
        ({"preview": "s = random.getstate(); random.seed(9); random.random(); random.setstate(s)"}, {}),
        ({"preview": "random.Random(9).random()"}, {}),
        ({"preview": "random.seed(9)", "step": "pass"}, {}),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_seed_that_is_set_again(again, mode, changes, expected):
    assert again(LEAKS.format(**{**LEAK, **changes}), mode) == expected


TORCH = """
import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
data = TensorDataset(torch.randn(32, 2))
weights = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.SGD([weights], 0.1)
fixed = DistributedSampler(data, num_replicas=1, rank=0)
loader = DataLoader(data, batch_size=8, {order})
def evaluate():
    {evaluate}
for epoch in __dv_loop__(range(3)):
    {epoch}
    for (x,) in loader:
        ((x - weights) ** 2).mean().backward()
        optimizer.step()
    evaluate()
"""

PLAIN = {"order": "shuffle=True", "evaluate": "pass", "epoch": "pass"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"order": "sampler=fixed"}, {13: 2}),
        # With workers, a sampler that has no more is asked again for each batch on its way: that is no pass.
        ({"order": "sampler=fixed, num_workers=2, prefetch_factor=1"}, {13: 2}),
        ({"order": "sampler=fixed, num_workers=2, persistent_workers=True"}, {13: 2}),
        ({"order": "sampler=fixed, num_workers=2", "epoch": "fixed.set_epoch(epoch)"}, {}),
        ({"order": "sampler=fixed, num_workers=2, prefetch_factor=1", "epoch": "fixed.set_epoch(epoch)"}, {}),
        ({"order": "shuffle=True, num_workers=2, persistent_workers=True"}, {}),
        ({"order": "sampler=torch.utils.data.SubsetRandomSampler(range(32)), num_workers=2"}, {}),
        ({"epoch": "torch.manual_seed(1)"}, {12: [0, 1], 13: 2}),
        ({"evaluate": "torch.manual_seed(1); torch.rand(1)"}, {10: [1, 2], 13: 2}),
        # No order is drawn; evaluations draw the same on purpose.
        ({"order": "shuffle=False", "epoch": "torch.manual_seed(1)"}, {}),
        ({"evaluate": "with torch.random.fork_rng(): torch.manual_seed(1); torch.rand(1)"}, {}),
        ({"evaluate": "list(DataLoader(data, shuffle=True, generator=torch.Generator().manual_seed(1)))"}, {}),
    ],
)
def test_updates_tell_a_training_from_an_evaluation(again, changes, expected):
    require("torch")
    assert again(TORCH.format(**{**PLAIN, **changes}), warm="torch") == expected


@pytest.mark.parametrize("mode", MODES)
def test_a_generator_whose_state_shows_nothing_neither_repeats_nor_breaks_the_look(again, mode):
    require("tensorflow")
    source = """
    import os
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow
    tensorflow.random.set_seed(3)
    for epoch in __dv_loop__(range(3)): tensorflow.random.uniform([2])
    """
    assert again(source, mode) == {}
