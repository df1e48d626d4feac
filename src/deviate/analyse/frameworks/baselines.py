"""What Stable-Baselines3 logs while one of its algorithms learns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.source.index import CallSite, bindings_of
from deviate.analyse.source.syntax import called_name

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
    algorithms = _algorithms(flow, site.node.func.value, site)
    if not algorithms or _is_silent(site.node.func.value, algorithms, site):
        return
    yield from dict.fromkeys((*_OF_EACH, *(name for each in algorithms for name in _OF_ALGORITHM[each])))
    if flow.program.calls.get("EvalCallback"):
        yield from _EVALUATED


def _algorithms(flow: Evaluator, model: ast.expr, site: CallSite) -> list[str]:
    """Return the algorithms that a model may be of; a class of the project is what it derives from."""
    refs = flow.resolved(model, site.scope).refs
    dotted = [ref.dotted for ref in refs if isinstance(ref, External)]
    dotted += [base for ref in refs if isinstance(ref, Instance) for base in flow.program.external_bases(flow, ref.cls)]
    parts = (part for name in dotted if name.startswith(_PACKAGES) for part in name.split("."))
    return list(dict.fromkeys(part for part in parts if part in _OF_ALGORITHM))


def _is_silent(model: ast.expr, algorithms: list[str], site: CallSite) -> bool:
    """Whether the model is made where it learns, to show nothing (``verbose=0``, the default) and to keep nothing."""
    bindings = bindings_of(model.id, site.scope) if isinstance(model, ast.Name) else []
    made = [each.value for each in bindings if isinstance(each.value, ast.Call)]
    calls = [call for call in made if isinstance(call, ast.Call) and called_name(call) in algorithms]
    keywords = [{key.arg: key.value for key in call.keywords} for call in calls]
    return bool(keywords) and not any(
        None in given or "tensorboard_log" in given or not _is_zero(given.get("verbose")) for given in keywords
    )


def _is_zero(verbose: ast.expr | None) -> bool:
    return verbose is None or (isinstance(verbose, ast.Constant) and not verbose.value)
