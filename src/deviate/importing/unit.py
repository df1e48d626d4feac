"""The unit is the run: what may stand for one, and what may not.

Epochs, folds and test examples of one training are not independent trainings. Counted as runs they make an interval
that is far too narrow, of another quantity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import scipy

from deviate.errors import NotRuns

#: Words that count what a training has done, and words that may stand beside them in the name of a counter.
_COUNTED = frozenset({
    "epoch", "epochs", "iteration", "iterations", "iter", "iters", "itr", "itrs", "it", "step", "steps",
    "timestep", "timesteps", "globalstep", "trainstep", "totaltimesteps", "update", "updates", "round",
    "rounds", "batch", "batches", "minibatch", "minibatches", "episode", "episodes", "tick", "ticks", "kimg",
    "nimg", "frame", "frames", "interacts", "interactions", "generation", "generations",
})  # fmt: skip
_BESIDE = frozenset({
    "global", "trainer", "train", "training", "trained", "total", "num", "n", "nb", "no", "number", "of", "env",
    "environment", "agent", "learner", "current", "cur", "id", "idx", "index", "count", "counter", "so", "far",
    "grad", "gradient", "opt", "optimizer", "sampled", "this", "outer", "inner", "main", "communication", "the",
    "i",
})  # fmt: skip
#: Words that say how many.
_AMOUNTS = frozenset({"num", "n", "nb", "number", "total", "count"})
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

#: Names of columns, without case and punctuation, by what they count.
FOLDS = ("fold", "folds", "foldid", "kfold", "cvfold", "cv", "cvsplit")
EXAMPLES = ("example", "exampleid", "sample", "sampleid", "image", "imageid", "instance", "instanceid", "testexample",
            "question", "questionid", "patient", "subject")  # fmt: skip

_WHY = {
    "iterations": "the epochs or steps of one training are one run: each begins where the one before ended",
    "folds": "folds share their training data, and each is another data set: they are not identical runs",
    "test examples": "test examples tell how one model does on data; how much trainings differ they cannot tell",
}

#: Rank correlation of values with their order beyond which rows look like the epochs of one training, and the fewest
#: rows with which this can be seen.
TREND, FEWEST_FOR_TREND = 0.9, 8


def plain(name: str) -> str:
    """Return a column's name without case and punctuation.

    Examples
    --------
    >>> plain("Global_Step"), plain("_step")
    ('globalstep', 'step')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def own_name(name: str) -> str:
    """Return a name without the groups that it is in: ``seed`` of ``args/seed``."""
    return re.split(r"[/.:]", name)[-1]


def is_counter(name: str) -> bool:
    """Tell by its name whether a column counts what a training has done.

    Examples
    --------
    >>> [is_counter(name) for name in ("epoch", "trainer/global_step", "TotalEnvInteracts", "epoch_id", "Step")]
    [True, True, True, True, True]
    >>> [is_counter(name) for name in ("step_time", "loss_step", "batch_size", "it/s", "time")]
    [False, False, False, False, False]
    """
    last = own_name(name.removeprefix("_"))
    words = {word.lower() for word in _PART.findall(last)}
    return plain(last) == "timestep" or (not words.isdisjoint(_COUNTED) and words <= _COUNTED | _BESIDE)


def is_amount(name: str) -> bool:
    """Tell by its name whether a counter may be how many there shall be.

    Examples
    --------
    >>> [is_amount(name) for name in ("num_epochs", "epochs", "n_steps", "epoch", "global_step")]
    [True, True, True, False, False]
    """
    words = {word.lower() for word in _PART.findall(own_name(name))}
    return any(word in _COUNTED and word.endswith("s") for word in words) or not words.isdisjoint(_AMOUNTS)


def counted_by(name: str) -> str:
    """Return what a column counts that is not runs: ``iterations``, ``folds``, ``test examples``, or nothing.

    Examples
    --------
    >>> counted_by("epoch"), counted_by("fold_3"), counted_by("seed")
    ('iterations', 'folds', '')
    """
    word = re.sub(r"\d+$", "", plain(name))
    if is_counter(re.sub(r"[\d_ -]+$", "", name)):
        return "iterations"
    tables = {"folds": FOLDS, "test examples": EXAMPLES}
    return next((counted for counted, words in tables.items() if word in words), "")


def check_run_column(name: str) -> None:
    """Refuse a column that cannot identify the runs.

    Raises
    ------
    NotRuns
        If it counts epochs, folds or test examples.
    """
    counted = counted_by(name)
    if counted:
        raise NotRuns(
            f"column {name!r} counts {counted}, and these are no runs: {_WHY[counted]}",
            hint="name the column with the seed or the run: --run-column seed; or give one file a run",
        )


def refuse(counted: str, evidence: str, hint: str = "") -> NotRuns:
    """Return the error for a table that has a value for each fold, iteration or test example.

    `counted` is what the table counts, a key of `_WHY`; `evidence` the sentence that shows it; `hint` what to type, by
    default to name the iterations.
    """
    remedy = hint or "say which column counts them: --iteration-column COLUMN, or --rows iterations"
    return NotRuns(f"{evidence}; {_WHY[counted]}", hint=remedy)


def rank_correlation(order: Sequence[float], values: Sequence[float]) -> float:
    """Return Spearman's rank correlation; there are two different values or more."""
    return float(scipy.stats.spearmanr(order, values).statistic)


def trend(values: list[float]) -> float | None:
    """Return Spearman's rank correlation of values with their order; None where it is too little to look like a curve.

    Examples
    --------
    >>> trend([0.1, 0.4, 0.6, 0.7, 0.75, 0.78, 0.8, 0.81])
    1.0
    >>> trend([0.8, 0.7]) is None
    True
    """
    if len(values) < FEWEST_FOR_TREND or len(set(values)) < 2:
        return None
    correlation = round(rank_correlation(range(len(values)), values), 9)
    return correlation if abs(correlation) > TREND else None
