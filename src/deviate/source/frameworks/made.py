"""Objects that a library's class makes: their types, and the arguments of the calls that make them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from deviate.source.flow.evaluator import Evaluator
from deviate.source.flow.values import External, Instance
from deviate.source.index import CallSite, Scope, bindings_of
from deviate.source.syntax import called_name


def types_of(flow: Evaluator, made: ast.expr, scope: Scope) -> list[str]:
    """Return the dotted names that an object may be of; of a class of the project, those that it derives from."""
    refs = flow.resolved(made, scope).refs
    dotted = [ref.dotted for ref in refs if isinstance(ref, External)]
    below = [ref.cls for ref in refs if isinstance(ref, Instance)]
    return [*dotted, *(base for cls in below for base in flow.program.external_bases(flow, cls))]


def given_to(made: ast.expr, classes: Collection[str], scope: Scope) -> list[dict[str | None, ast.expr]]:
    """Return the keywords of each call that makes an object of some classes, where a name is bound to it."""
    values = [each.value for each in bindings_of(made.id, scope)] if isinstance(made, ast.Name) else []
    calls = [value for value in values if isinstance(value, ast.Call) and called_name(value) in classes]
    return [{key.arg: key.value for key in call.keywords} for call in calls]


def is_nothing(given: ast.expr | None) -> bool:
    """Whether what is given is written as nothing: ``validation_data=None``, ``verbose=0``."""
    return isinstance(given, ast.Constant) and not given.value


# What Stable-Baselines3 logs while one of its algorithms learns.

_PACKAGES = ("stable_baselines3.", "sb3_contrib.")
#: Of every algorithm: reward and length of the last episodes, and what they cost.
_OF_EACH = ("rollout/ep_rew_mean", "rollout/ep_len_mean", "time/fps", "time/time_elapsed")
_CLIPPED = (
    "train/loss", "train/policy_gradient_loss", "train/value_loss", "train/entropy_loss", "train/approx_kl",
    "train/clip_fraction", "train/explained_variance",
)  # fmt: skip
_ENTROPIC = ("train/actor_loss", "train/critic_loss", "train/ent_coef", "train/ent_coef_loss")
_OF_ALGORITHM = {
    "PPO": _CLIPPED, "RecurrentPPO": _CLIPPED, "MaskablePPO": _CLIPPED,
    "A2C": ("train/policy_loss", "train/value_loss", "train/entropy_loss", "train/explained_variance"),
    "TRPO": ("train/policy_objective", "train/value_loss", "train/kl_divergence_loss", "train/explained_variance"),
    "DQN": ("train/loss",), "QRDQN": ("train/loss",),
    "SAC": _ENTROPIC, "TQC": _ENTROPIC, "CrossQ": _ENTROPIC,
    "DDPG": ("train/actor_loss", "train/critic_loss"), "TD3": ("train/actor_loss", "train/critic_loss"),
}  # fmt: skip
#: Of a callback that evaluates.
_EVALUATED = ("eval/mean_reward", "eval/mean_ep_length")


def learned(flow: Evaluator, site: CallSite) -> Iterator[str]:
    """Yield the names under which a call of ``learn`` logs, where it shows or keeps what it logs."""
    if called_name(site.node) != "learn" or not isinstance(site.node.func, ast.Attribute):
        return
    model = site.node.func.value
    parts = [
        part for name in types_of(flow, model, site.scope) if name.startswith(_PACKAGES) for part in name.split(".")
    ]
    algorithms = [part for part in dict.fromkeys(parts) if part in _OF_ALGORITHM]
    if not algorithms or _is_silent(given_to(model, algorithms, site.scope)):
        return
    yield from dict.fromkeys((*_OF_EACH, *(name for each in algorithms for name in _OF_ALGORITHM[each])))
    if flow.program.calls.get("EvalCallback"):
        yield from _EVALUATED


def _is_silent(made: list[dict[str | None, ast.expr]]) -> bool:
    """Whether models are made to show nothing (``verbose=0``, the default) and to keep nothing."""
    return bool(made) and all(
        None not in given
        and "tensorboard_log" not in given
        and ("verbose" not in given or is_nothing(given["verbose"]))
        for given in made
    )
