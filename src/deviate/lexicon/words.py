"""The words of a name or a text: lists of them, the kind and direction of a metric that they speak of, and the rest.

Kind and direction are read from the whole of a name: ``lists/meanings.txt``.

Names that users type, matched with the names there are, and names made unique; case tells none apart.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import get_args

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction, Kind

#: Where a word of a name begins: in ``run_test`` and ``runTest``, and not in ``latest``.
BEGINS = r"(?:(?<![A-Za-z])|(?<=[a-z0-9])(?=[A-Z]))"
#: A word of a name that has to do with training, be it joined to others, ``pretrain``; no ``constraint``.
TRAIN = r"(?<!s)(?i:train)"
#: Logs, be the word joined to others, ``tblogger``; no ``catalog``, ``logit`` or ``login``.
LOG = (
    r"(?<![A-Za-z])(?i:(train|test|val|eval|run|main|my|file|event|text)log(?![a-z])|log(?!i[ct]|in|ar)|struct_?log)"
    r"|(?<=[a-z0-9])Log(?!i[ct]|in|ar)|(?i:logg(er|ing))"
)
LISTS = Path(__file__).parent / "lists"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def word_lists(name: str) -> dict[str, frozenset[str]]:
    """Read ``lists/NAME.txt``: each list starts with its name in brackets; ``#`` starts a remark."""
    lists: dict[str, set[str]] = {}
    for line in (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            words = lists.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            words.add(line)
    return {name: frozenset(words) for name, words in lists.items()}


def words_like(whole: str = "", begun: str = "") -> str:
    """Return a regular expression for a word of a name: one of `whole`, or one that begins with one of `begun`.

    Both are alternatives of regular expressions, in whatever case. ``main`` is found in ``is_main`` and ``isMain``, and
    not in ``domain`` or ``remain``.
    """
    return rf"{BEGINS}(?:{f'(?i:{whole})(?![a-z])|' if whole else ''}(?i:{begun or '(?!)'}))"


@lru_cache(maxsize=20_000)
def plain(name: str) -> str:
    """Return a name without case and punctuation.

    >>> plain("Global_Step"), plain("_step")
    ('globalstep', 'step')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


@lru_cache(maxsize=20_000)
def word_forms(text: str) -> tuple[tuple[str, ...], ...]:
    """Split a name or text into lower-case words, each with the forms in which it may be known.

    ``valAcc_top1`` gives val, (acc, valacc), (top, top1): alone, with the number behind it, joined to a whole.
    """
    words: list[tuple[str, ...]] = []
    for name in re.findall(r"[A-Za-z][A-Za-z0-9]*", text):
        parts = _WORD.findall(name)
        for position, part in enumerate(parts):
            if not part.isdigit():
                words.append((part.lower(),))
            elif position:
                words[-1] += (parts[position - 1].lower() + part,)
        if len(parts) > 1:
            words[-1] += (name.lower(),)
    return tuple(words)


@lru_cache(maxsize=20_000)
def words_of(text: str) -> tuple[str, ...]:
    """Split a name or text into lower-case words; ``valAcc_top1`` gives val, acc, valacc, top, top1, top1."""
    return tuple(form for forms in word_forms(text) for form in forms)


@dataclass(frozen=True)
class Meaning:
    """Kind of metric a word names, and which way is better."""

    kind: Kind
    direction: Direction | None


#: Of a value whose words mean nothing known.
UNNAMED = Meaning("quality", None)
_LOSS, SLOWNESS, _RATE = Meaning("loss", "lower"), Meaning("speed", "lower"), Meaning("speed", "higher")

_MEANT = word_lists("meanings")
MEANINGS: dict[str, Meaning] = {
    word: Meaning(kind, direction)
    for kind in get_args(Kind)
    for direction in (*get_args(Direction), None)
    for word in _MEANT.get(f"{kind} {direction or 'either'}", ())
}
_OTHER = _MEANT["other"]
_PHRASES = {phrase for phrase in {*MEANINGS, *_OTHER} if " " in phrase}
_LONGEST = max(phrase.count(" ") + 1 for phrase in _PHRASES)
_ENDINGS = {ending: MEANINGS[ending] for ending in _MEANT["endings"]}
_WEAK = _MEANT["weak"]
#: Words that say how far the training is.
POSITIONS = _MEANT["positions"]
#: Durations, at the end of a name: ``score_time`` is no score.
_DURATIONS = (_MEANT["speed lower"] & _WEAK) - {"times", "wall"}

_PER_SECOND = re.compile(
    r"(?<![a-z])per[ _-](s|secs?|seconds?|minutes?|hours?)(?![a-z])|/ ?(s|secs?|seconds?)\b"
    r"|(imgs?|images?|samples?|tokens?|examples?|steps|frames?)_s(ec)?(?![a-z])"
)
#: With a slash, the plural is of what is counted in a group of times: ``time/iterations``.
_SECONDS_PER = re.compile(
    r"(?<![a-z])((s|secs?|seconds?|ms|msec|us|ns|min|minutes?|hours?)[ _-]?(per[ _-]|/ ?)|time([ _-]per[ _-]| ?/ ?))"
    r"(it|iter|iteration|step|batch|epoch|sample|ex|example|image|img|kimg|frame|token|tok|update|episode|query|request)"
    r"(?![a-z_])"
)
#: No phrase goes across these: ``float(precision)``.
_BREAKS = re.compile(r"[(),;:\[\]]+")
#: A word that begins with a capital: ``SamplesPerSec``.
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: A name within a group: ``losses/entropy``.
_GROUPED = re.compile(r"(.*\S)/(\S[^()/]*)")
#: Over all examples or classes: ``micro_p``.
_AVERAGED = re.compile(r"(?<![a-z0-9])(micro|macro|weighted)[ _-]?[prf](?![a-z])")
#: Retrieval: ``hits@10``, ``HR@5``.
_AT_RANK = re.compile(r"(?<![a-z0-9])(hits?|hr|h|p|r|map|ndcg|acc|top|pass)[ _]?@[ _]?\d*")
_FIRST_RANKS = re.compile(r"(?<![a-z0-9])rank[ _-]?(1|5|10|20)(?!\d)")
#: Mean average precision: in lower case it may be any map.
_MEAN_PRECISION = re.compile(
    r"(^|[^A-Za-z])m?AP([^A-Za-z]|$)|(^|[^A-Za-z])MAP([^A-Za-z]|$)|(train|val|valid|test|best)_map(?![A-Za-z_])"
)
#: The sum of rewards, and not what a function hands back.
_RETURN_OF = re.compile(
    r"(^|[^a-z])(avg|average|mean|median|episod(e|ic)|ep|cumulative|discounted|normalized|best|test|eval)[_ ]returns?"
    r"($|[^a-z])"
)
#: A loss that is called after what it is made of: ``loss_dice``.
_LOSS_OF = re.compile(r"(?<![a-z0-9])loss(es)?_[a-z0-9_]*[a-z0-9]$")
#: What is left of one: ``1 - acc``, and ``-elbo``.
_ONE_LESS = re.compile(r"\s*(1 ?)?[-−] ?[A-Za-z]\w*")
#: Where a value is read, and no part of what it is: ``TPR@FPR1%``, ``val_loss_at_best_acc``.
_WHERE = re.compile(r"[ _]?@|[ _]at[ _]", re.IGNORECASE)
#: How long it takes, in whatever is counted: ``steps to 90% acc``.
_UNTIL = re.compile(r"(epoch|episode|iteration|iter|sample|step|update)s?[ _](to|until)[ _]")
_EPISODE_LENGTH = re.compile(
    r"(\b|test|train|eval|mean|avg|average|[_/])ep(isode|isodic|s)?[_ /]?len(gth)?s?\b"
    r"|(\b|_)len(gth)?_(of_)?ep(isode)?s?\b"
)


@lru_cache(maxsize=20_000)
def meaning_of(text: str) -> Meaning | None:
    """Find what kind of metric a text speaks of.

    The last strong word or phrase wins, a weak one only alone; a rate, a unit, or a group that losses are in say more.
    """
    lower = text.lower()
    if _SECONDS_PER.search(_apart(text)):
        return SLOWNESS
    if is_per_second(text):
        return Meaning("quality", "lower") if _MEANT["events lower"] & {*words_of(text)} else _RATE
    if _EPISODE_LENGTH.search(lower) or _UNTIL.match(lower) or text.endswith("±"):
        return UNNAMED
    if any(named.search(lower) for named in (_AT_RANK, _AVERAGED, _FIRST_RANKS)):
        return Meaning("quality", "higher")
    grouped = _GROUPED.fullmatch(text.strip())
    return (_within(*grouped.groups()) if grouped else None) or _read(text)[0]


def is_time_or_rate(name: str) -> bool:
    """Tell whether a name is that of a time or a rate.

    >>> is_time_or_rate("train time"), is_time_or_rate("loss"), is_time_or_rate("x")
    (True, False, False)
    """
    meaning = meaning_of(name)
    return meaning is not None and meaning.kind == "speed"


def _within(group: str, own: str) -> Meaning | None:
    """Read a name within a group, ``losses/entropy``; None where the group says what the name does not."""
    words, head = words_of(own), words_of(group)[-1:]
    if _MEANT["generic"].issuperset(words):
        return None
    meaning, is_strong = _read(own)
    if head in {("loss",), ("losses",)}:
        return _among_losses(words[-1], meaning, is_one=head == ("loss",))
    if head == ("time",) and words[-1] in POSITIONS:
        return meaning or UNNAMED
    if meaning is None or is_strong:
        return meaning
    above, is_telling = _read(group)
    says_less = meaning.direction is not None or (is_telling and above is not None and above.direction is not None)
    return None if says_less else meaning


def _among_losses(last: str, meaning: Meaning | None, *, is_one: bool) -> Meaning | None:
    """Read a name in a group of losses: ``loss/kl`` is part of it, ``losses/entropy`` is shown beside them."""
    if last in _MEANT["beside losses"]:
        return meaning or UNNAMED
    return _LOSS if meaning is not None and (is_one or meaning.direction is not None) else meaning


def _read(text: str) -> tuple[Meaning | None, bool]:
    """Return what the words say without regard to groups and units, and whether a strong one does."""
    where = _WHERE.search(text, 1)
    if where and (of_head := _read(text[: where.start()]))[0] is not None and of_head[0].direction is not None:
        return of_head
    words = words_of(text)
    if _LOSS_OF.search(text.strip().lower()) and words[-1] not in _MEANT["beside losses"]:
        return _LOSS, True
    strong, weak = _most_telling(text, words)
    meaning = strong or _share(words) or weak
    return (None if meaning is None else _turned(meaning, text, words, weak)), strong is not None


def _most_telling(text: str, words: tuple[str, ...]) -> tuple[Meaning | None, Meaning | None]:
    """Return what the last strong word or phrase and the last weak one mean."""
    strong: Meaning | None = None
    weak: Meaning | None = None
    for word, meaning in _said(text):
        if word in _WEAK and not (word in _DURATIONS and word == words[-1]):
            weak = weak if weak is not None and word in _MEANT["shares"] else meaning  # ``hit ratio``
        elif strong is None or not (_less_telling(meaning, strong) or _is_generic(word, strong)):
            strong = meaning
    return strong, weak


def _turned(meaning: Meaning, text: str, words: tuple[str, ...], weak: Meaning | None) -> Meaning:
    """Return the meaning of a whole name, by what its first and its last word make of it."""
    first, last = words[0], words[-1]
    if first == "neg" and meaning == Meaning("quality", "lower"):
        return Meaning("quality", "higher")  # an error with its sign turned, as scikit-learn's scores have it
    in_phrases = {word for said, _ in _said(text) if " " in said for word in said.split()}
    changes, turning = _MEANT["changes"] - in_phrases, _MEANT["turning"] - in_phrases
    is_turned = first in changes | turning or _ONE_LESS.fullmatch(text) is not None
    is_of_loss = first == "loss" and meaning == Meaning("quality", "higher")  # ``loss of accuracy``
    if last in changes or is_of_loss or (is_turned and meaning.kind != "loss"):
        return Meaning(meaning.kind, None)
    is_told = meaning.direction is not None or weak is None or weak.kind != meaning.kind
    return meaning if is_told or weak is None or weak.direction is None else weak


def _said(text: str) -> Iterator[tuple[str, Meaning]]:
    """Yield the words and phrases of a text that mean something."""
    is_of_machine = not _MEANT["machine"].isdisjoint(words_of(text))
    for word in chain.from_iterable(map(_spoken, _BREAKS.split(text))):
        meaning = UNNAMED if word in _OTHER else known(word)
        if meaning is not None and (is_of_machine or meaning.kind != "resource" or word not in _WEAK):
            yield word, meaning


def _spoken(clause: str) -> Iterator[str]:
    """Yield the phrases of a clause, and the words that are in none."""
    words = word_forms(clause)
    at = 0
    while at < len(words):
        phrase = _phrase_at(words, at)
        yield from (phrase,) if phrase else words[at]
        at += phrase.count(" ") + 1


def _phrase_at(words: tuple[tuple[str, ...], ...], at: int) -> str:
    """Return the longest phrase that begins at a word, in the singular; empty where none does."""
    for length in range(min(_LONGEST, len(words) - at), 1, -1):
        phrase = " ".join(forms[0] for forms in words[at : at + length])
        for each in (phrase, phrase.removesuffix("s")):
            if each in _PHRASES:
                return each
    return ""


def _less_telling(new: Meaning, old: Meaning) -> bool:
    """Whether a later word should not replace an earlier one: ``loss value``, ``accuracy error``."""
    return (new.direction is None and old.direction is not None) or (new.kind == "loss" and old.kind == "speed")


def _is_generic(word: str, strong: Meaning) -> bool:
    """Whether a word says of what is named before it that it is a number: ``brier score``."""
    return word in _MEANT["generic"] and strong.direction is not None


def _share(words: tuple[str, ...]) -> Meaning | None:
    """Return which way a share is better by what happens in it: ``miss rate``."""
    if not words or words[-1] not in _MEANT["shares"]:
        return None
    for direction in get_args(Direction):
        if not _MEANT[f"events {direction}"].isdisjoint(words):
            return Meaning("quality", direction)
    return None


def known(word: str) -> Meaning | None:
    """Return what one word means, also as the end of a longer one and in the plural: ``trainloss``, ``precisions``."""
    ending = next((meaning for end, meaning in _ENDINGS.items() if len(word) > len(end) and word.endswith(end)), None)
    single = word[:-1] if word.endswith("s") and len(word) > 3 else ""
    several = MEANINGS.get(single) if single not in _WEAK else None
    return MEANINGS.get(word) or ending or (several if several is not None and several.direction is not None else None)


def is_per_second(text: str) -> bool:
    """Whether a text names how much is done in a time: ``samples/s``."""
    return _PER_SECOND.search(_apart(text)) is not None


def _apart(text: str) -> str:
    return _CAPITAL.sub("_", text).lower()


def is_episode_length(text: str) -> bool:
    """Whether a text names the length of an episode."""
    return _EPISODE_LENGTH.search(text.lower()) is not None


def is_metric_word(text: str) -> bool:
    """Whether a text names a metric by itself, without evidence from the value."""
    lower = text.lower()
    named = (_AVERAGED, _RETURN_OF, _EPISODE_LENGTH, _AT_RANK, _FIRST_RANKS)
    if any(each.search(lower) for each in named) or _MEAN_PRECISION.search(text):
        return True
    return any(word not in _WEAK and word not in _OTHER for word, _ in _said(text))


def aggregate_of(kind: Kind, name: str = "") -> str:
    """Guess the aggregate of a metric by its kind.

    Losses and qualities: the last. The best of many evaluations on the data that selects it is biased upwards, so that
    is left to the user to choose. A clock that goes on from the start, by its name: the last.

    >>> aggregate_of("speed", "time per epoch"), aggregate_of("speed", "time elapsed")
    ('mean', 'last')
    """
    if kind == "speed" and "elapsed" in words_of(name):
        return "last"
    return {"speed": "mean", "resource": "max"}.get(kind, "last")


__all__ = [
    "ARTICLES", "BEGINS", "LINKING", "LOG", "MAX_WORDS", "TRAIN", "UNNAMED", "Meaning", "aggregate_of",
    "counts_parameters", "is_bookkeeping", "is_clock_part", "is_counting", "is_digest", "is_episode_length",
    "is_forecast", "is_in_settings", "is_metric_word", "is_progress", "is_schedule", "is_settings_name", "meaning_of",
    "split_of", "without_links", "without_unit", "word_lists", "words_like", "words_of",
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
LINKING, ARTICLES = (word_lists("metric_names")[name] for name in ("linking words", "articles"))
_SPLITS = {word: split for split in ("train", "val", "test", "eval") for word in _LISTS[f"split {split}"]}

_NUMBER_OF = re.compile("n[a-z]")
#: A letter right after a number marks a variant, and is no counter: ``r1i``, a recall of images.
_MARKED = re.compile(r"(?<=\d)[a-z](?![A-Za-z0-9])")
_PER = re.compile(r"[_ ]per[_ ]", re.IGNORECASE)
_EACH = re.compile(r"^per[_ ](epoch|batch|step|iter(ation)?|episode)[_ ]", re.IGNORECASE)
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


def is_schedule(text: str) -> bool:
    """Whether a name is of a learning rate or another schedule."""
    is_named = any(word in _SCHEDULE for word in words_of(text)) or _LEARN_RATE.search(text.lower()) is not None
    return is_named and not is_metric_word(text)


@lru_cache(maxsize=20_000)
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
#: The end of a label, behind the name of a metric: ``AUC (macro): ``.
_CLOSING = re.compile(r"(?<=\w) \([^()\n]*\)(?=[\s:=]*$)")


def clauses_of(text: str, breaks: re.Pattern[str], trim: str) -> list[str]:
    """Split a text at `breaks` that are not inside a call; take the marks in `trim` off the ends.

    >>> clauses_of("step 3, D(G(z)): ", re.compile(r"[(),]+"), " :")
    ['step 3', 'D(G(z))']
    """
    remark = _closing_remark(text)
    head = f"{text[: text.rindex(remark)]}\x03" if remark else text
    shielded = _CALLS.sub(lambda call: call[0].replace("(", "\x01").replace(")", "\x02"), head)
    clauses = (clause.strip(trim) for clause in breaks.split(shielded.rstrip(trim)))
    return [clause.replace("\x01", "(").replace("\x02", ")").replace("\x03", remark) for clause in clauses]


def _closing_remark(text: str) -> str:
    """Return the remark that ends a label behind the name of a metric; empty where there is none."""
    closing = _CLOSING.search(text)
    return closing[0] if closing and is_metric_word(re.split(r"[|:;,)\n]", text[: closing.start()])[-1]) else ""


def without_links(text: str) -> str:
    """Leave out the words of a text that only link it to what stands around it.

    >>> without_links("the loss was"), without_links("ACCURACY IS"), without_links("IS")  # the Inception score
    ('loss', 'ACCURACY', 'IS')
    """
    words = text.split()
    while words and words[-1].lower() in LINKING and not (len(words) == 1 and words[0].isupper()):
        words.pop()
    while len(words) > 1 and words[0].lower() in LINKING | ARTICLES:
        words.pop(0)
    return " ".join(words)


def same_name(name: str, names: Sequence[str]) -> str | None:
    """Return the one of `names` that is meant: the very same, or the only one that differs in case alone.

    A metric of an evaluation, ``evaluate: accuracy``, may be named without the evaluation where that leaves no doubt.

    >>> same_name("test accuracy", ["Test accuracy", "loss"])
    'Test accuracy'
    >>> same_name("Loss", ["loss", "Loss"])
    'Loss'
    >>> same_name("accuracy", ["evaluate: accuracy", "loss"])
    'evaluate: accuracy'
    >>> same_name("LOSS", ["loss", "Loss"]) is None
    True
    """
    alike = _alike(name, names)
    return alike[0] if len(alike) == 1 else None


def _alike(name: str, names: Sequence[str]) -> list[str]:
    """Return the names that may be meant, each once."""
    if name in names:
        return [name]
    alike = [other for other in names if other.casefold() == name.casefold()]
    alike = alike or [other for other in names if other.rpartition(": ")[2].casefold() == name.casefold()]
    return list(dict.fromkeys(alike))


def find_name(name: str, names: Sequence[str]) -> str:
    """Return the metric of `names` that is meant, as `same_name`.

    Raises BadOption with the names there are, in their order, if none of them or more than one is meant.

    >>> find_name("test accuracy", ["Test accuracy", "loss"])
    'Test accuracy'
    """
    match = same_name(name, names)
    if match is None and (alike := _alike(name, names)):
        raise BadOption(f"{name!r} names {len(alike)} metrics", hint=f"type one of them: {', '.join(map(repr, alike))}")
    if match is None:
        raise BadOption(*missing_name(name, names, f"no metric {name!r}"))
    return match


def missing_name(name: str, names: Sequence[str], missing: str) -> tuple[str, str]:
    """Return what to say of a name that is not there, and what to type: the name that it is nearly, else any of them.

    >>> missing_name("test accc", ["test acc", "loss"], "no metric 'test accc'")
    ("no metric 'test accc'; did you mean 'test acc'?", '')
    >>> missing_name("f1", ["test acc", "loss"], "no metric 'f1'")
    ("no metric 'f1'", 'type one of: test acc, loss')
    """
    if near := difflib.get_close_matches(name, names, n=1):
        return f"{missing}; did you mean {near[0]!r}?", ""
    return missing, f"type one of: {', '.join(dict.fromkeys(names))}" if names else "there is no metric"


# Names that Deviate makes.

#: Statistics of the values whose mean a name is of: ``Avg return`` beside ``Min`` is of returns.
_NO_MEANS = frozenset(("min", "max", "std", "var", "median", "percentile"))
_MEAN = re.compile(r"^(avg\.?|average|mean)[ _]+(?=\w)", re.IGNORECASE)


def unique(names: list[str], hints: list[list[str]]) -> list[str]:
    """Make names differ by more than case: add the first hint that tells them apart, then a number.

    >>> unique(["Avg return", "Avg return"], [["", ""], ["", "min"]])
    ['Avg return', 'return (min)']
    """
    result = list(names)
    for level in range(max((len(hint) for hint in hints), default=0)):
        same_names: dict[str, list[int]] = {}
        for index, name in enumerate(result):
            same_names.setdefault(name.lower(), []).append(index)
        for indices in same_names.values():
            extra = [hints[index][level] if level < len(hints[index]) else "" for index in indices]
            if len(set(extra)) > 1:
                for index, word in zip(indices, extra, strict=True):
                    if word and word.lower() not in result[index].lower():
                        name = _MEAN.sub("", result[index]) if word in _NO_MEANS else result[index]
                        result[index] = f"{word} {name}" if level == 0 else f"{name} ({word})"
    seen: dict[str, int] = {}
    for index, name in enumerate(result):
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        if seen[name.lower()] > 1:
            result[index] = f"{name} #{seen[name.lower()]}"
    return result
