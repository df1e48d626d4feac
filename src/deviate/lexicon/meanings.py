"""What kind of metric a name or text speaks of, and which way is better: read from the whole of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import get_args

from deviate.core.experiment import Direction, Kind
from deviate.lexicon.splitting import word_forms, word_lists, words_of


@dataclass(frozen=True)
class Meaning:
    """Kind of metric a word names, and which way is better."""

    kind: Kind
    direction: Direction | None


#: Of a value whose words mean nothing known.
UNNAMED = Meaning("quality", None)
_LOSS, _SLOWNESS, _RATE = Meaning("loss", "lower"), Meaning("speed", "lower"), Meaning("speed", "higher")

_LISTS = word_lists("meanings")
MEANINGS: dict[str, Meaning] = {
    word: Meaning(kind, direction)
    for kind in get_args(Kind)
    for direction in (*get_args(Direction), None)
    for word in _LISTS.get(f"{kind} {direction or 'either'}", ())
}
_OTHER = _LISTS["other"]
_PHRASES = {phrase for phrase in {*MEANINGS, *_OTHER} if " " in phrase}
_LONGEST = max(phrase.count(" ") + 1 for phrase in _PHRASES)
_ENDINGS = {ending: MEANINGS[ending] for ending in _LISTS["endings"]}
_WEAK = _LISTS["weak"]
#: Words that say how far the training is.
POSITIONS = _LISTS["positions"]
#: Durations, at the end of a name: ``score_time`` is no score.
_DURATIONS = (_LISTS["speed lower"] & _WEAK) - {"times", "wall"}

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
        return _SLOWNESS
    if is_per_second(text):
        return _RATE
    if _EPISODE_LENGTH.search(lower):
        return UNNAMED
    if any(named.search(lower) for named in (_AT_RANK, _AVERAGED, _FIRST_RANKS)):
        return Meaning("quality", "higher")
    grouped = _GROUPED.fullmatch(text.strip())
    return (_within(*grouped.groups()) if grouped else None) or _read(text)[0]


def _within(group: str, own: str) -> Meaning | None:
    """Read a name within a group, ``losses/entropy``; None where the group says what the name does not."""
    words, head = words_of(own), words_of(group)[-1:]
    if _LISTS["generic"].issuperset(words):
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
    if last in _LISTS["beside losses"]:
        return meaning or UNNAMED
    return _LOSS if meaning is not None and (is_one or meaning.direction is not None) else meaning


def _read(text: str) -> tuple[Meaning | None, bool]:
    """Return what the words say without regard to groups and units, and whether a strong one does."""
    words = words_of(text)
    if _LOSS_OF.search(text.strip().lower()) and words[-1] not in _LISTS["beside losses"]:
        return _LOSS, True
    strong, weak = _most_telling(text, words)
    meaning = strong or _share(words) or weak
    return (None if meaning is None else _turned(meaning, words, weak)), strong is not None


def _most_telling(text: str, words: tuple[str, ...]) -> tuple[Meaning | None, Meaning | None]:
    """Return what the last strong word or phrase and the last weak one mean."""
    strong: Meaning | None = None
    weak: Meaning | None = None
    for word, meaning in _said(text):
        if word in _WEAK and not (word in _DURATIONS and word == words[-1]):
            weak = weak if weak is not None and word in _LISTS["shares"] else meaning  # ``hit ratio``
        elif strong is None or not (_less_telling(meaning, strong) or _is_generic(word, strong)):
            strong = meaning
    return strong, weak


def _turned(meaning: Meaning, words: tuple[str, ...], weak: Meaning | None) -> Meaning:
    """Return the meaning of a whole name, by what its first and its last word make of it."""
    spreads = _LISTS["spreads"]
    if words[-1] in spreads or (words[0] in spreads and meaning.kind != "loss"):
        return Meaning(meaning.kind, None)  # how far values lie apart is neither better nor worse
    if words[0] == "neg" and meaning == Meaning("quality", "lower"):
        return Meaning("quality", "higher")  # an error with its sign turned, as scikit-learn's scores have it
    is_told = meaning.direction is not None or weak is None or weak.kind != meaning.kind
    return meaning if is_told or weak is None or weak.direction is None else weak


def _said(text: str) -> Iterator[tuple[str, Meaning]]:
    """Yield the words and phrases of a text that mean something."""
    is_of_machine = not _LISTS["machine"].isdisjoint(words_of(text))
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
    return word in _LISTS["generic"] and strong.direction is not None


def _share(words: tuple[str, ...]) -> Meaning | None:
    """Return which way a share is better by what happens in it: ``miss rate``."""
    if not words or words[-1] not in _LISTS["shares"]:
        return None
    for direction in get_args(Direction):
        if not _LISTS[f"events {direction}"].isdisjoint(words):
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

    Examples
    --------
    >>> aggregate_of("speed", "time per epoch"), aggregate_of("speed", "time elapsed")
    ('mean', 'last')
    """
    if kind == "speed" and "elapsed" in words_of(name):
        return "last"
    return {"speed": "mean", "resource": "max"}.get(kind, "last")
