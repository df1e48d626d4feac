"""Generators of environments draw for the training, wherever an environment is made."""

from __future__ import annotations

from pathlib import Path

from installed import require
from programs import FACTORS, Run

#: What `gymnasium.utils.seeding` does.
SEEDING = """
import numpy as np
def np_random(seed=None):
    sequence = np.random.SeedSequence(seed)
    return np.random.Generator(np.random.PCG64(sequence)), sequence.entropy
"""

AGENT = """
import torch
from gymnasium.utils import seeding
class Environment:
    def __init__(self):
        self.generator, _ = seeding.np_random()
class Agent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 1)
        self.environment = Environment()
agent = Agent()
print([float(value) for value in agent.environment.generator.random(3)], agent.net.weight.tolist())
"""


def test_an_environment_that_a_module_makes_draws_for_other(run: Run, tmp_path: Path) -> None:
    require("torch")
    libraries = tmp_path / "site-packages"
    package = libraries / "gymnasium" / "utils"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "seeding.py").write_text(SEEDING)
    seeds = dict.fromkeys(FACTORS, 5)
    states, weights = {}, {}
    for name, changed in {"control": {}, "init": {"init": 6}, "other": {"other": 6}}.items():
        outcome = run(AGENT, seed=5, path=(libraries,), seeds={**seeds, **changed}, warm="torch")
        drawn, _, weight = outcome.stdout.strip().partition("] ")
        states[name], weights[name] = drawn, weight
    assert states["init"] == states["control"] != states["other"]
    assert weights["other"] == weights["control"] != weights["init"]


UNSEEDED = """
import random
import numpy as np
from gymnasium.utils import seeding
np.random.seed(0)
generator, _ = seeding.np_random()
own = np.random.default_rng()
dice = random.Random()
seeded, _ = seeding.np_random(3)
print(generator.random(), own.random(), dice.random(), seeded.random(), np.random.rand())
"""


def test_generators_that_nothing_seeds_are_seen_with_the_line_that_makes_them(run: Run, tmp_path: Path) -> None:
    require("numpy")
    libraries = tmp_path / "site-packages"
    package = libraries / "gymnasium" / "utils"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("")
    (package / "seeding.py").write_text(SEEDING)
    outcomes = [run(UNSEEDED, control="observe", seeds=None, path=(libraries,)) for _ in range(2)]
    ends = [event for outcome in outcomes for event in outcome.of("fingerprint") if event["moment"] == "end"]
    assert [event["name"] for event in ends] == ["other", "other"]
    assert ends[0]["digest"] != ends[1]["digest"]
    unseeded = sorted(source["line"] for source in ends[0]["sources"] if "line" in source and "call" not in source)
    assert unseeded == [6, 7]
    calls = {source["call"]: source["given"] for source in ends[0]["sources"] if "call" in source}
    assert (calls["random.Random"], calls["numpy.random.seed"]) == ("None", "0")
    assert calls["gymnasium.utils.seeding.np_random"] == "3"


#: How Stable-Baselines3 picks what a step learns from, and what its policies do.
BUFFERS = """
import numpy as np
class BaseBuffer:
    def sample(self, size):
        return np.random.randint(0, 1000, size)
class ReplayBuffer(BaseBuffer):
    def sample(self, size):
        return super().sample(size)
class RolloutBuffer:
    def get(self, size):
        order = np.random.permutation(16)
        for start in range(0, 16, size):
            yield order[start : start + size]
"""
DISTRIBUTIONS = """
import torch
class Distribution:
    def get_actions(self):
        return torch.randn(2)
"""
LEARNING = """
import torch
from stable_baselines3.common.buffers import ReplayBuffer, RolloutBuffer
from stable_baselines3.common.distributions import Distribution
class Policy(torch.nn.Module):
    def forward(self):
        return Distribution().get_actions(), torch.randn(2)
actions, noise = Policy()()
print(ReplayBuffer().sample(3).tolist(), [part.tolist() for part in RolloutBuffer().get(4)], sep="|", end="|")
print(actions.tolist(), noise.tolist(), sep="|")
"""


def test_what_an_agent_learns_from_is_shuffle_and_what_it_does_is_no_layer(run: Run, tmp_path: Path) -> None:
    require("torch")
    libraries = tmp_path / "site-packages"
    package = libraries / "stable_baselines3" / "common"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("")
    (package / "buffers.py").write_text(BUFFERS)
    (package / "distributions.py").write_text(DISTRIBUTIONS)
    seeds = dict.fromkeys(FACTORS, 5)
    drawn = {}
    for name in (None, "shuffle", "other", "layers"):
        changed = {name: 6} if name else {}
        outcome = run(LEARNING, seed=5, path=(libraries,), seeds={**seeds, **changed}, warm="torch")
        drawn[name] = outcome.stdout.strip().split("|")
    changes = {name: [a != b for a, b in zip(drawn[None], each, strict=True)] for name, each in drawn.items() if name}
    # A sample of the replay memory, parts of a rollout, actions, and another draw in the forward pass.
    assert changes["shuffle"] == [True, True, False, False]
    assert changes["other"] == [False, False, True, False]
    assert changes["layers"] == [False, False, False, True]
