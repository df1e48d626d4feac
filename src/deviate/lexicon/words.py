"""What the words of a name or of a text mean for the value they stand for."""

from __future__ import annotations

import re

from deviate.lexicon.meanings import (
    MEANINGS,
    POSITIONS,
    UNNAMED,
    Meaning,
    aggregate_of,
    is_episode_length,
    is_metric_word,
    is_per_second,
    meaning_of,
)
from deviate.lexicon.splitting import BEGINS, LOG, TRAIN, word_lists, words_like, words_of

__all__ = [
    "BEGINS", "LOG", "MAX_WORDS", "TRAIN", "UNNAMED", "Meaning", "aggregate_of", "counts_parameters", "is_bookkeeping",
    "is_clock_part", "is_counting", "is_digest", "is_episode_length", "is_forecast", "is_in_settings",
    "is_metric_word", "is_progress", "is_schedule", "is_settings_name", "meaning_of", "outcome_of", "split_of",
    "without_unit", "word_lists", "words_like", "words_of",
]  # fmt: skip

#: Words of a text that name a value, at most.
MAX_WORDS = 6

_LISTS = word_lists("words")
_COUNTING = _LISTS["counting"]
_COUNTING_LAST = _LISTS["counting last"]
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
#: A letter right after a number marks a variant, and is no counter: ``r1i``, a recall of images.
_MARKED = re.compile(r"(?<=\d)[a-z](?![A-Za-z0-9])")
_PER = re.compile(r"[_ ]per[_ ]", re.IGNORECASE)
_EACH = re.compile(r"^per[_ ](epoch|batch|step|iter(ation)?|episode)[_ ]", re.IGNORECASE)
#: Counts of right and wrong predictions, each way: ``true_positives``, ``num_fp``.
_RIGHT = re.compile(r"(^|[_ ])(true[_ ]?(positive|negative)s?|tp|tn|wins)$")
_WRONG = re.compile(r"(^|[_ ])(false[_ ]?(positive|negative)s?|fp|fn)$")
#: How many steps were taken along the gradient.
_GRADIENT_STEPS = re.compile(r"(^|[^a-z])grad(ient)?s?[ _-]?(step|update|iter(ation)?)s?$")
_LEARN_RATE = re.compile(r"\b(learn[ _-]?rate|step[ _-]?size)")


def without_unit(text: str) -> str:
    """``dice_per_class`` is a dice, ``steps_per_epoch`` steps."""
    return _PER.split(text)[0] or text


def is_counting(text: str) -> bool:
    """Whether a name counts something and names no metric."""
    words = words_of(without_unit(_EACH.sub("", _MARKED.sub("", text))))
    # ``nt``, ``nb``: a number of targets, of batches.
    is_number_of = len(words) > 0 and bool(_NUMBER_OF.fullmatch(words[0])) and words[-1] not in MEANINGS
    counts = any(word in _COUNTING for word in words) or is_number_of
    counts = counts or (len(words) > 0 and words[-1] in _COUNTING_LAST)
    return counts and not is_metric_word(text) and not is_per_second(text)


def is_bookkeeping(text: str) -> bool:
    """Whether a name means how far the training is or how large the model, and nothing else: ``n_parameters``."""
    words = set(words_of(text))
    if words & _PARAMETERS:
        return counts_parameters(text)
    if _GRADIENT_STEPS.search(text.lower()):
        return True
    return not words.isdisjoint(POSITIONS) and words <= POSITIONS | _SPLITS.keys() | {"global", "globalstep", "n"}


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
    return name.lower() in _SETTINGS_NAMES or (name.isupper() and len(name) > 2 and name.lower() not in MEANINGS)


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


# The clauses of a text: its pieces between marks that separate, a call kept whole.

#: ``D(G(z))`` is a name, not a remark in parentheses.
_CALLS = re.compile(r"\b\w+\((?:[^()\s]|\([^()\s]*\))*\)")


def clauses_of(text: str, breaks: re.Pattern[str], trim: str) -> list[str]:
    """Split a text at `breaks` that are not inside a call; take the marks in `trim` off the ends.

    Examples
    --------
    >>> clauses_of("step 3, D(G(z)): ", re.compile(r"[(),]+"), " :")
    ['step 3', 'D(G(z))']
    """
    shielded = _CALLS.sub(lambda call: call[0].replace("(", "\x01").replace(")", "\x02"), text)
    clauses = (clause.strip(trim) for clause in breaks.split(shielded.rstrip(trim)))
    return [clause.replace("\x01", "(").replace("\x02", ")") for clause in clauses]
