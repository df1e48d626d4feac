"""What the words of a name or of a text say about the value they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from deviate.experiment import Direction, Kind

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Meaning:
    """Kind of metric a word names, and which way is better."""

    kind: Kind
    direction: Direction | None


#: Of a value that no word says anything of.
UNNAMED = Meaning("quality", None)


def _table(kind: Kind, direction: Direction | None, words: str) -> dict[str, Meaning]:
    return dict.fromkeys(words.split(), Meaning(kind, direction))


_MEANINGS: dict[str, Meaning] = {
    **_table("quality", "higher",
             "acc accuracy accuracies prec precision recall f1 fscore auc auroc auprc roc ap map miou iou map50 map75 "
             "ap50 ap75 dice bleu rouge "
             "meteor cider score scores reward rewards return returns ret rets r2 psnr ssim top1 top5 prec1 prec5 acc1 "
             "acc5 top success correct mrr ndcg hits win wins winrate elo em kappa mcc spearman pearson sensitivity "
             "specificity jaccard fitness likelihood elbo modularity ari nmi silhouette coverage explained confidence "
             "ll auc corrects right hit mrr ev solved accs"),
    **_table("quality", "lower",
             "err error errors wer cer fid kid mae mse rmse mape perplexity ppl bpc bpd regret lpips epe violation "
             "violations mistakes wrong msre rmsle deviation residual distance gap brier ece failures"),
    **_table("loss", "lower",
             "loss losses cost costs nll xent ce bce crossentropy objective penalty hinge mloss objs obj "
             "los energy "
             "adv triplet contrastive"),
    **_table("quality", None,
             "entropy kl kld grad gradient norm logit logits sparsity advantage advantages qvals vvals qvalue qvalues "
             "q value ratio clipfrac "
             "variance std metric metrics stat stats result results performance margin similarity alpha snr divergence "
             "correlation eval validation temperature sharpness eigenvalue rank density length episodic drift "
             "convergence converged batches evaluation kurtosis weight params"),
    **_table("speed", "lower",
             "time times elapse elapsed runtime walltime duration eta sec secs "
             "second seconds ms minutes hours latency dt overhead timer took timing"),
    **_table("speed", "higher", "throughput speed fps mfu ips sps tps qps rate hfu tflops gflops"),
    **_table("resource", "lower", "mem memory vram ram allocated reserved peak usage rss gpumem footprint peaked used"),
}  # fmt: skip

#: Words too weak to make a metric without other evidence.
_WEAK = {
    "q", "ret", "value", "ratio", "variance", "std", "stat", "stats", "result", "results", "alpha", "weight",
    "params", "length", "density", "time", "times", "second", "seconds", "sec", "top", "rank", "map", "rate",
    "return", "returns", "em", "ap", "ev", "hit", "hits", "right", "win", "used", "usage", "obj", "norm", "eval",
    "evaluation", "validation", "confidence", "distance", "temperature", "energy", "batches", "peak", "ce", "adv",
    "ll", "ms", "cer", "ram",
}  # fmt: skip

_COUNTING = {
    "epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "iterations", "batch", "idx", "index", "i",
    "j", "k", "n", "num", "count", "counter", "counts", "cnt", "cnts", "total", "totals", "size", "sizes", "len",
    "seed", "rank", "gpu", "gpus", "device", "devices", "world", "patience", "wait", "current", "cur", "n_iter",
    "round", "rounds", "param", "params", "parameters", "classes", "class", "samples", "examples", "tokens",
    "images", "frames", "frame", "timesteps", "timestep", "it",
}  # fmt: skip
_POSITIONS = {"epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "iterations"}
_PARAMETERS = {"param", "params", "parameter", "parameters"}
_NUMBER = {"n", "num", "nb", "number", "count", "of", "total", "trainable", "model"}
_SETTINGS_NAMES = {
    "args", "arg", "opt", "opts", "options", "option", "cfg", "cfgs", "config", "configs", "configuration", "conf",
    "params", "hparams", "hyperparams", "hyperparameters", "hp", "flags", "settings", "arguments", "parser",
    "parsed", "namespace", "setting",
}  # fmt: skip
_NUMBER_OF = re.compile("n[a-z]")
_SCHEDULE = {"lr", "lrs", "learning", "momentum", "decay", "beta", "warmup", "anneal", "wd"}
_HIGHER_RATES = re.compile(r"(per|/)[ _]?(s|sec|second)\b|(it|its|iters?|steps?|samples?|examples?|img|images?|tokens?|"
                           r"tok|words|frames?|imgs)s?[ _]?/[ _]?s|(steps?|samples?|examples?|iters?|tokens?|"
                           r"images?)_per_s|(imgs?|images?|samples?|tokens?|examples?|"
                           r"steps?|frames?)_s(ec)?(_|\b)")  # fmt: skip


_TIME_SPENT = re.compile(r"\b(time[ _-]?(cost|lost|spent|used)|cost[ _-]?time)\b")
_CROSS_ENTROPY = re.compile(r"cross[_ -]?entropy")
_WIN_RATE = re.compile(r"\b(win|success|hit|pass|solve)s?(ning)?[_ -]?rate\b")
#: What mixed precision multiplies the loss by is none.
_LOSS_SCALE = re.compile(r"loss[ _-]?scal(e|er|ing)\b")
_EPISODE_LENGTH = re.compile(r"(\b|test|train|eval|mean|avg|average|[_/])ep(isode|isodic|s)?[_ /]?len(gth)?s?\b")


@lru_cache(maxsize=20_000)
def words_of(text: str) -> tuple[str, ...]:
    """Split a name or text into lower-case words; ``valAcc_top1`` gives val, acc, top1, top, 1."""
    found: list[str] = []
    for name in re.findall(r"[A-Za-z][A-Za-z0-9]*", text):
        parts = _WORD.findall(name)
        for position, part in enumerate(parts):
            word = part.lower()
            if word.isdigit():
                if position:
                    found.append(parts[position - 1].lower() + word)
                continue
            found.append(word)
        if len(parts) > 1:
            found.append(name.lower())
    return tuple(found)


@lru_cache(maxsize=20_000)
def meaning_of(text: str) -> Meaning | None:
    """Find what kind of metric a text speaks of; the last strong word wins, a weak one only alone."""
    if _HIGHER_RATES.search(text.lower()):
        return Meaning("speed", "higher")
    if _TIME_SPENT.search(text.lower()):
        return Meaning("speed", "lower")
    if _EPISODE_LENGTH.search(text.lower()) or _LOSS_SCALE.search(text.lower()):
        return UNNAMED
    if _WIN_RATE.search(text.lower()):
        return Meaning("quality", "higher")
    if _CROSS_ENTROPY.search(text.lower()):
        return Meaning("loss", "lower")
    strong = weak = None
    for word in words_of(text):
        meaning = _MEANINGS.get(word) or _compound(word)
        if meaning is not None:
            if word in _WEAK:
                weak = meaning
            elif strong is None or not _less_telling(meaning, strong):
                strong = meaning
    if strong is not None and weak is not None and strong.direction is None and weak.kind == "quality":
        return weak if weak.direction is not None else strong
    return strong or weak


def _less_telling(new: Meaning, old: Meaning) -> bool:
    """Whether a later word should not replace an earlier one: ``loss value``, ``accuracy error``."""
    return (new.direction is None and old.direction is not None) or (new.kind == "loss" and old.kind == "speed")


_ENDINGS = {
    ending: _MEANINGS[ending]
    for ending in ("loss", "losses", "acc", "accuracy", "error", "score", "reward", "time", "precision",
        "recall", "err",
                   "cost", "ppl", "auc", "perplexity", "norm")
}  # fmt: skip


def _compound(word: str) -> Meaning | None:
    """``trainloss``, ``valacc``."""
    return next(
        (meaning for ending, meaning in _ENDINGS.items() if len(word) > len(ending) and word.endswith(ending)), None
    )


def is_episode_length(text: str) -> bool:
    """Whether a text names the length of an episode."""
    return _EPISODE_LENGTH.search(text.lower()) is not None


def is_metric_word(text: str) -> bool:
    """Whether a text names a metric by itself, without evidence from the value."""
    return is_episode_length(text) or any(
        (word in _MEANINGS and word not in _WEAK) or _compound(word) is not None for word in words_of(text)
    )


def is_counting(text: str) -> bool:
    """Whether a name counts something and names no metric."""
    words = words_of(text)
    # ``nt``, ``nb``: a number of targets, of batches.
    counts = any(word in _COUNTING for word in words) or (len(words) > 0 and bool(_NUMBER_OF.fullmatch(words[0])))
    return counts and not is_metric_word(text)


def is_bookkeeping(text: str) -> bool:
    """Whether a name says how far the training is or how large the model, and nothing else: ``n_parameters``."""
    words = set(words_of(text))
    if words & _PARAMETERS:
        return bool(words & _NUMBER) and words <= _PARAMETERS | _NUMBER
    return not words.isdisjoint(_POSITIONS) and words <= _POSITIONS | _SPLITS.keys() | {"global", "globalstep", "n"}


def is_settings_name(name: str) -> bool:
    """Whether a variable of this name holds the program's settings."""
    return name.lower() in _SETTINGS_NAMES or (name.isupper() and len(name) > 2 and name.lower() not in _MEANINGS)


def is_schedule(text: str) -> bool:
    """Whether a name is of a learning rate or another schedule."""
    words = words_of(text)
    return any(word in _SCHEDULE for word in words) and not is_metric_word(text)


_SPLITS = {"train": "train", "training": "train", "tr": "train", "val": "val", "valid": "val", "validation": "val",
           "dev": "val", "validate": "val", "test": "test", "testing": "test", "tst": "test", "eval": "eval",
           "evaluate": "eval", "evaluation": "eval", "infer": "eval", "inference": "eval"}  # fmt: skip


def split_of(text: str) -> str:
    """Find which part of the data a text speaks of: ``train``, ``val``, ``test``, ``eval`` or nothing."""
    return next((_SPLITS[word] for word in words_of(text) if word in _SPLITS), "")


_CLOCK_PARTS = {"hour", "hours", "hrs", "h", "min", "mins", "minute", "minutes", "m", "sec", "secs", "second",
    "seconds", "s", "days",
                "day", "d", "ms", "millis", "secondsf", "hh", "mm", "ss", "rem", "hr"}  # fmt: skip


def is_clock_part(name: str) -> bool:
    """Whether a variable holds the hours, minutes or seconds of a time that is shown in parts."""
    words = words_of(name)
    return name in _CLOCK_PARTS or (len(words) > 1 and len(words[-1]) > 2 and words[-1] in _CLOCK_PARTS)
