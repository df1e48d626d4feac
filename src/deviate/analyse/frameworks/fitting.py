"""Calls that run a whole training inside a library."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.analyse.abstract import External, Instance
from deviate.analyse.index import CallSite
from deviate.analyse.program import Program, called_name
from deviate.analyse.texts import dotted_text

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

_FITS = {"fit", "fit_generator", "fit_one_cycle", "fine_tune", "learn", "fit_sgd_warm_restart"}
_RUNS = {"train", "run", "training", "start", "train_and_evaluate"}
_KEYWORDS = {
    "epochs", "validation_data", "callbacks", "datamodule", "train_dataloaders", "batch_size", "max_epochs",
    "num_epochs",
    "total_timesteps", "steps_per_epoch", "train_dataloader", "resume_from_checkpoint", "ckpt_path",
    "eval_set", "loaders",
}  # fmt: skip
_TRAINERS = re.compile(r"(trainer|engine|runner|learner|learn|estimator|session|experiment)$", re.IGNORECASE)
_MODELS = re.compile(r"(model|net|network|trainer|learn|learner|gan|vae|autoencoder|classifier|agent|policy|"
                     r"ppo|engine)\d*$",
                     re.IGNORECASE)  # fmt: skip
_NOT_MODELS = re.compile(r"(scaler|pca|encoder|tokenizer|vectorizer|transformer|imputer|tsne|kmeans|binarizer|"
                         r"svd|le|enc|gmm|curve|"
                         r"regressor|lr|logreg|knn|svm)$", re.IGNORECASE)  # fmt: skip
_TRAINER_TYPES = re.compile(
    r"(Trainer|Engine|Runner|Learner|Estimator|Model|Sequential|NeuralNet\w*|Fabric|PPO|A2C|DQN|SAC|TD3)$"
)


def is_fitting_call(flow: Flow, program: Program, site: CallSite) -> bool:
    """Whether a call trains a model in a loop of a library."""
    name = called_name(site.node)
    if (name not in _FITS and name not in _RUNS) or not isinstance(site.node.func, ast.Attribute):
        return False
    if program.targets(flow, site):
        return False
    said = dotted_text(site.node.func.value)
    keywords = {key.arg for key in site.node.keywords}
    made = [ref.dotted for ref in flow.value(site.node.func.value, site.scope).refs if isinstance(ref, External)]
    made.extend(base for ref in flow.value(site.node.func.value, site.scope).refs if isinstance(ref, Instance)
                for base in program.external_bases(flow, ref.cls))  # fmt: skip
    if not made and _is_own_loop(program, name):
        return False
    typed = any(_TRAINER_TYPES.search(one.rpartition(".")[2]) for one in made)
    if name in _FITS:
        if _NOT_MODELS.search(said) or any(one.startswith("sklearn.") for one in made):
            return False
        return bool(keywords & _KEYWORDS) or typed or (bool(_MODELS.search(said)) and bool(site.node.args))
    if name == "train" and not site.node.args and not site.node.keywords:
        return bool(_TRAINERS.search(said)) or (typed and not _MODELS.search(said))
    if name == "train" and _MODELS.search(said) and not _TRAINERS.search(said):
        return bool(keywords & _KEYWORDS)
    return (
        bool(_TRAINERS.search(said))
        and (name != "run" or bool(site.node.args or keywords))
        and not said.endswith("sess")
    )


def _is_own_loop(program: Program, name: str) -> bool:
    """Whether a call of unknown object may run a loop of the project: one that a configuration makes, say."""
    return any(unit in program.reached and unit.loops for unit in program.methods.get(name, []))
