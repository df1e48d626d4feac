"""What the words of a name or of a text mean for the value they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import get_args

from deviate.experiment import Direction, Kind

#: Where a word of a name begins: in ``run_test`` and ``runTest``, and not in ``latest``.
BEGINS = r"(?:(?<![A-Za-z])|(?<=[a-z0-9])(?=[A-Z]))"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Meaning:
    """Kind of metric a word names, and which way is better."""

    kind: Kind
    direction: Direction | None


#: Of a value whose words mean nothing known.
UNNAMED = Meaning("quality", None)


def word_lists(module_file: str) -> dict[str, frozenset[str]]:
    """Read the ``.txt`` file of a module's name: each list starts with its name in brackets; ``#`` starts a remark."""
    lists: dict[str, set[str]] = {}
    for line in Path(module_file).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            words = lists.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            words.add(line)
    return {name: frozenset(words) for name, words in lists.items()}


_LISTS = word_lists(__file__)
_MEANINGS: dict[str, Meaning] = {
    word: Meaning(kind, direction)
    for kind in get_args(Kind)
    for direction in (*get_args(Direction), None)
    for word in _LISTS.get(f"{kind} {direction or 'either'}", ())
}
_ENDINGS = {ending: _MEANINGS[ending] for ending in _LISTS["endings"]}
_WEAK = _LISTS["weak"]
_SPREADS = {"std", "stddev", "stdev"}
_COUNTING = _LISTS["counting"]
_COUNTING_LAST = _LISTS["counting last"]
_POSITIONS = _LISTS["positions"]
_PROGRESS = _LISTS["progress"]
_FORECASTS, _FORECASTS_OF_TIMES = _LISTS["forecasts"], _LISTS["forecasts of times"]
_DIGESTS = _LISTS["digests"]
#: Whose sum tells them apart, and is no result.
_SUMMED = {"weight", "weights", "tensor", "tensors", "param", "params", "parameter", "parameters"}
_PARAMETERS = _LISTS["parameters"]
_NUMBER = _LISTS["numbers"]
_SETTINGS_NAMES = _LISTS["settings"]
_SETTINGS_GROUPS = _LISTS["settings groups"]
_SCHEDULE = _LISTS["schedule"]
_CLOCK_PARTS = _LISTS["clock parts"]
_SPLITS = {word: split for split in ("train", "val", "test", "eval") for word in _LISTS[f"split {split}"]}

_NUMBER_OF = re.compile("n[a-z]")
_HIGHER_RATES = re.compile(r"(per|/)[ _]?(s|sec|second)\b|(it|its|iters?|steps?|samples?|examples?|img|images?|tokens?|"
                           r"tok|words|frames?|imgs)s?[ _]?/[ _]?s|(steps?|samples?|examples?|iters?|tokens?|"
                           r"images?)_per_s|(imgs?|images?|samples?|tokens?|examples?|"
                           r"steps?|frames?)_s(ec)?(_|\b)")  # fmt: skip
_TIME_SPENT = re.compile(r"\b(time[ _-]?(cost|lost|spent|used)|cost[ _-]?time)\b")
_CROSS_ENTROPY = re.compile(r"cross[_ -]?entropy")
#: Over all examples or classes: ``micro_p``.
_AVERAGED = re.compile(r"(?<![a-z0-9])(micro|macro|weighted)[ _-]?[prf](?![a-z])")
#: Retrieval: ``hits@10``, ``HR@5``, the mean rank.
_AT_RANK = re.compile(r"(?<![a-z0-9])(hits?|hr|h|p|r|map|ndcg|acc|top)[ _]?@[ _]?\d*")
_MEAN_RANK = re.compile(r"(\b|_)(mean|average|avg|av)[ ._-]{0,2}rank\b")
_RECIPROCAL_RANK = re.compile(r"(?<![a-z])recip(rocal)?[ _-]?rank")
_FIRST_RANKS = re.compile(r"(?<![a-z0-9])rank[ _-]?(1|5|10|20)(?!\d)")
_NUMBER_FORMAT = re.compile(r"(mixed|half|full|single|float|numerical)[ _-]?precision")
#: Mean average precision: in lower case it may be any map.
_MEAN_PRECISION = re.compile(
    r"(^|[^A-Za-z])m?AP([^A-Za-z]|$)|(^|[^A-Za-z])MAP([^A-Za-z]|$)|(train|val|valid|test|best)_map(?![A-Za-z_])"
)
#: A letter right after a number marks a variant, and is no counter: ``r1i``, a recall of images.
_MARKED = re.compile(r"(?<=\d)[a-z](?![A-Za-z0-9])")
_PER = re.compile(r"[_ ]per[_ ]", re.IGNORECASE)
_EACH = re.compile(r"^per[_ ](epoch|batch|step|iter(ation)?|episode)[_ ]", re.IGNORECASE)
#: The sum of rewards, and not what a function hands back.
_RETURN_OF = re.compile(
    r"(^|[^a-z])(avg|average|mean|median|episod(e|ic)|ep|cumulative|discounted|normalized|best|test|eval)[_ ]returns?"
    r"($|[^a-z])"
)
_WIN_RATE = re.compile(r"\b(win|success|hit|pass|solve)s?(ning)?[_ -]?rate\b")
#: A loss that is called after what it is made of: ``loss_dice``.
_LOSS_OF = re.compile(r"(?<![a-z0-9])loss_(?!acc|coef|ratio|std|time|var|weight)[a-z0-9]+$")
#: What mixed precision multiplies the loss by is none.
_LOSS_SCALE = re.compile(r"loss[ _-]?scal(e|er|ing)\b")
#: Counts of right and wrong predictions, each way: ``true_positives``, ``num_fp``.
_RIGHT = re.compile(r"(^|[_ ])(true[_ ]?(positive|negative)s?|tp|tn|wins)$")
_WRONG = re.compile(r"(^|[_ ])(false[_ ]?(positive|negative)s?|fp|fn)$")
#: How many steps were taken along the gradient.
_GRADIENT_STEPS = re.compile(r"(^|[^a-z])grad(ient)?s?[ _-]?(step|update|iter(ation)?)s?$")
_LEARN_RATE = re.compile(r"\b(learn[ _-]?rate|step[ _-]?size)")
_EPISODE_LENGTH = re.compile(
    r"(\b|test|train|eval|mean|avg|average|[_/])ep(isode|isodic|s)?[_ /]?len(gth)?s?\b"
    r"|(\b|_)len(gth)?_(of_)?ep(isode)?s?\b"
)


@lru_cache(maxsize=20_000)
def words_of(text: str) -> tuple[str, ...]:
    """Split a name or text into lower-case words; ``valAcc_top1`` gives val, acc, top1, top, 1."""
    words: list[str] = []
    for name in re.findall(r"[A-Za-z][A-Za-z0-9]*", text):
        parts = _WORD.findall(name)
        for position, part in enumerate(parts):
            word = part.lower()
            if word.isdigit():
                if position:
                    words.append(parts[position - 1].lower() + word)
                continue
            words.append(word)
        if len(parts) > 1:
            words.append(name.lower())
    return tuple(words)


@lru_cache(maxsize=20_000)
def meaning_of(text: str) -> Meaning | None:
    """Find what kind of metric a text speaks of; the last strong word wins, a weak one only alone."""
    if _HIGHER_RATES.search(text.lower()):
        return Meaning("speed", "higher")
    if _TIME_SPENT.search(text.lower()):
        return Meaning("speed", "lower")
    if any(named.search(text.lower()) for named in (_EPISODE_LENGTH, _LOSS_SCALE, _NUMBER_FORMAT)):
        return UNNAMED
    if _WIN_RATE.search(text.lower()):
        return Meaning("quality", "higher")
    if _AT_RANK.search(text.lower()) or _AVERAGED.search(text.lower()) or _FIRST_RANKS.search(text.lower()):
        return Meaning("quality", "higher")
    if _RECIPROCAL_RANK.search(text.lower()):
        return Meaning("quality", "higher")
    if _MEAN_RANK.search(text.lower()):
        return Meaning("quality", "lower")
    if _CROSS_ENTROPY.search(text.lower()) or _LOSS_OF.search(text.lower()):
        return Meaning("loss", "lower")
    strong = weak = None
    for word in words_of(text):
        meaning = _MEANINGS.get(word) or _compound(word) or _of_several(word)
        if meaning is not None:
            if word in _WEAK:
                weak = meaning
            elif strong is None or not _less_telling(meaning, strong):
                strong = meaning
    if strong is not None and words_of(text)[-1] in _SPREADS:
        return Meaning(strong.kind, None)  # how far values lie apart is neither better nor worse
    if strong is not None and weak is not None and strong.direction is None and weak.kind == "quality":
        return weak if weak.direction is not None else strong
    return strong or weak


def _less_telling(new: Meaning, old: Meaning) -> bool:
    """Whether a later word should not replace an earlier one: ``loss value``, ``accuracy error``."""
    return (new.direction is None and old.direction is not None) or (new.kind == "loss" and old.kind == "speed")


def _compound(word: str) -> Meaning | None:
    """``trainloss``, ``valacc``."""
    return next(
        (meaning for ending, meaning in _ENDINGS.items() if len(word) > len(ending) and word.endswith(ending)), None
    )


def _of_several(word: str) -> Meaning | None:
    """``precisions``, of a word that means a metric by itself."""
    single = word[:-1] if word.endswith("s") and len(word) > 3 else ""
    meaning = _MEANINGS.get(single) if single not in _WEAK else None
    return meaning if meaning is not None and meaning.direction is not None else None


def is_episode_length(text: str) -> bool:
    """Whether a text names the length of an episode."""
    return _EPISODE_LENGTH.search(text.lower()) is not None


def is_metric_word(text: str) -> bool:
    """Whether a text names a metric by itself, without evidence from the value."""
    lower = text.lower()
    if _AVERAGED.search(lower) or _RETURN_OF.search(lower) or is_episode_length(text):
        return True
    ranks = (_AT_RANK, _MEAN_RANK, _RECIPROCAL_RANK, _FIRST_RANKS)
    if any(rank.search(lower) for rank in ranks) or _MEAN_PRECISION.search(text):
        return True
    if _NUMBER_FORMAT.search(lower) or _GRADIENT_STEPS.search(lower):
        return False
    return any(
        (word in _MEANINGS and word not in _WEAK) or _compound(word) is not None or _of_several(word) is not None
        for word in words_of(text)
    )


def without_unit(text: str) -> str:
    """``dice_per_class`` is a dice, ``steps_per_epoch`` steps."""
    return _PER.split(text)[0] or text


def is_counting(text: str) -> bool:
    """Whether a name counts something and names no metric."""
    words = words_of(without_unit(_EACH.sub("", _MARKED.sub("", text))))
    # ``nt``, ``nb``: a number of targets, of batches.
    is_number_of = len(words) > 0 and bool(_NUMBER_OF.fullmatch(words[0])) and words[-1] not in _MEANINGS
    counts = any(word in _COUNTING for word in words) or is_number_of
    counts = counts or (len(words) > 0 and words[-1] in _COUNTING_LAST)
    return counts and not is_metric_word(text) and _HIGHER_RATES.search(text.lower()) is None


def is_bookkeeping(text: str) -> bool:
    """Whether a name means how far the training is or how large the model, and nothing else: ``n_parameters``."""
    words = set(words_of(text))
    if words & _PARAMETERS:
        return counts_parameters(text)
    if _GRADIENT_STEPS.search(text.lower()):
        return True
    return not words.isdisjoint(_POSITIONS) and words <= _POSITIONS | _SPLITS.keys() | {"global", "globalstep", "n"}


def is_progress(name: str) -> bool:
    """Whether a name says which part of the training is over, and no more: ``percentage_done``."""
    words = set(re.findall(r"[a-z]+", name.lower()))
    return bool(words) and words <= _PROGRESS


def is_forecast(text: str, *, is_time: bool) -> bool:
    """Whether a text names what is left: ``eta``, or of a time ``left`` and ``to finish``."""
    words = words_of(text)
    return not _FORECASTS.isdisjoint(words) or (is_time and not _FORECASTS_OF_TIMES.isdisjoint(words))


def is_digest(text: str) -> bool:
    """Whether a text names a number that tells whether two things are the same: ``checksum``, ``weight sum``."""
    words = set(words_of(text))
    is_sum = "sum" in words and not words.isdisjoint(_SUMMED)
    return (is_sum or not words.isdisjoint(_DIGESTS)) and not is_metric_word(text)


def counts_parameters(text: str) -> bool:
    """Whether a text says how large the model is, and nothing else: ``Total number of parameters``."""
    words = set(words_of(text))
    return bool(words & _PARAMETERS) and bool(words & _NUMBER) and words <= _PARAMETERS | _NUMBER


def is_settings_name(name: str) -> bool:
    """Whether a variable of this name holds the program's settings."""
    return name.lower() in _SETTINGS_NAMES or (name.isupper() and len(name) > 2 and name.lower() not in _MEANINGS)


def is_in_settings(name: str) -> bool:
    """Whether a name leads to a setting in a group of them: ``config/seed``, ``hparams.width``.

    What is filled in, ``run_{args.session}/loss``, and a group that is called after a setting, ``args_small/loss``, do
    not.
    """
    groups = re.split(r"[/.:]", re.sub(r"\{[^{}]*\}", "", name))[:-1]
    return any(not _SETTINGS_GROUPS.isdisjoint(words_of(each)[-1:]) and not is_metric_word(each) for each in groups)


def outcome_of(name: str) -> Meaning | None:
    """Find which way a count of right or wrong predictions, or of games won, is better: ``num_fp``, ``wins``."""
    if _RIGHT.search(name.lower()):
        return Meaning("quality", "higher")
    return Meaning("quality", "lower") if _WRONG.search(name.lower()) else None


def is_schedule(text: str) -> bool:
    """Whether a name is of a learning rate or another schedule."""
    is_named = any(word in _SCHEDULE for word in words_of(text)) or _LEARN_RATE.search(text.lower()) is not None
    return is_named and not is_metric_word(text)


def split_of(text: str) -> str:
    """Find which part of the data a text speaks of: ``train``, ``val``, ``test``, ``eval`` or nothing."""
    return next((_SPLITS[word] for word in words_of(text) if word in _SPLITS), "")


def is_clock_part(name: str) -> bool:
    """Whether a variable holds the hours, minutes or seconds of a time that is reported in parts."""
    words = words_of(name)
    return name in _CLOCK_PARTS or (len(words) > 1 and len(words[-1]) > 2 and words[-1] in _CLOCK_PARTS)


def aggregate_of(kind: Kind) -> str:
    """Guess the aggregate of a kind of metric.

    Losses and qualities: the last. The best of many evaluations on the data that selects it is biased upwards, so that
    is left to the user to choose.
    """
    return {"speed": "mean", "resource": "max"}.get(kind, "last")
