"""Readable names for metrics."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.lexicon.words import (
    MAX_WORDS,
    clauses_of,
    is_metric_word,
    meaning_of,
    split_of,
    word_lists,
    words_of,
)
from deviate.source.flow.values import METRIC_ORIGINS, From
from deviate.source.texts import ReportedValue

if TYPE_CHECKING:
    from deviate.source.flow.program import Evaluator

_LISTS = word_lists("metric_names")
_LINKING = _LISTS["linking words"]
_ARTICLES = _LISTS["articles"]
_LABEL_NAMES = _LISTS["label variables"]
_UNITS = word_lists("printed_names")["units apart"]
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[/?[a-z ]+\]")
_BREAKS = re.compile(r"[\n\r\t|;,\[\]{}<>()*#]+|\s[-–—]+\s|={2,}|-{2,}|>{2,}| {3,}|\.\s|:\s+(?=\w)")
#: A bracket around the values of one name: ``Precision [0.5, 0.4]``.
_OPENED = re.compile(r"(?<=\w) ?\[$")
_TRIM = " :=-–—_/\\.,'\"~+@!?&%$^`→"
#: What stands before the number of a class: ``Accuracy of class 3: 97.1``.
_NUMBERS_CLASS = re.compile(r"(?i)\bclass $")
#: What stands between two values of one name.
_BESIDE = {"/", "(", "|", "+/-", "+-", "\N{PLUS-MINUS SIGN}", "[", "%/", "% /"}
#: A clock reading that a duration is measured from.
_START = re.compile(r"(^|[._])(start|begin|since|tic|last|prev|t0)([._]|$)|^(t|t\d|end|starttime|startTime)$")


def name_of(reported: ReportedValue, variable: str, earlier: str, speed: bool = False) -> str:
    """Name a value by its tag, the text before it, the text after it, or its variable.

    `earlier` is the name that the same text gave to the value before it; `speed` says that it is a time or a rate.
    """
    if reported.mapping and not reported.tag:
        return plain_variable(variable)
    if reported.tag and re.search(r"[A-Za-z{]", reported.tag):
        return _tidy_tag(reported.tag)
    after = _words_after(reported)
    known = meaning_of(earlier)
    if speed and known is not None and known.kind != "speed":
        # ``acc 0.93 (0.4s)``: a time beside a value of another kind is named by itself.
        earlier = ""
    own = words_before(reported) or (after if _only_links(reported) else "") or earlier or after
    if speed and own.lower() in {"total", "overall"}:
        return f"{own} time"
    if meaning_of(own) is None and meaning_of(earlier) is not None and meaning_of(variable) is not None:
        own = earlier
    if speed and own and meaning_of(own) is None and set(words_of(own)) < set(words_of(variable)):
        return f"{own} time" if meaning_of(variable) is not None else plain_variable(variable)
    if meaning_of(own) is None and (speed or len(own) <= 2):
        own = "" if meaning_of(variable) is not None or not speed else "time"
    if speed and not own and _START.search(variable):
        return "time"
    return own or plain_variable(variable)


def text_name(reported: ReportedValue, variable: str, earlier: str = "") -> str:
    """Name in the text around a value; empty when the text names nothing."""
    before = words_before(reported)
    if before or earlier:
        return before or earlier
    after = _words_after(reported)
    return after if after and (is_metric_word(after) or meaning_of(variable) is None) else ""


def names_also(earlier: str, variable: str) -> bool:
    """Whether the name of the value before means the same as a variable: ``Train loss 12 0.3``."""
    return bool(earlier) and meaning_of(earlier) is not None and meaning_of(earlier) == meaning_of(variable)


def continues(reported: ReportedValue) -> bool:
    """Whether a value stands beside the one before under the same words: ``MRR = 0.31/0.35``, ``loss 0.4 (0.5)``."""
    is_decimal = re.search(r"[feFEgG%]$", reported.spec) is not None
    return reported.position > 0 and is_decimal and reported.before.strip() in _BESIDE


def ends_label(reported: ReportedValue) -> bool:
    """Whether nothing but a colon stands between the value before and this one: ``Loss after epoch 3: 0.4``."""
    return reported.position > 0 and reported.before.strip() in {":", "=", "):"}


def words_before(reported: ReportedValue) -> str:
    """Last words before a value that can name it: ``converged after`` is ``converged``, ``s/epoch`` a unit."""
    if _follows_unit(reported):
        return ""
    words = _last_clause(reported.before).split()
    while words and words[-1].lower() in _LINKING:
        words.pop()
    while len(words) > 1 and words[0].lower() in _LINKING | _ARTICLES:
        words.pop(0)
    return " ".join(words)


def _words_after(reported: ReportedValue) -> str:
    """First words after a value, unless they introduce the next one (``loss: ``)."""
    match = re.match(r"^[%)\]]* ?([A-Za-z][\w /%-]*)(.?)", reported.after)
    if match is None or match[2] in {":", "="}:
        return ""
    words = [word for word in match[1].strip(_TRIM).split() if word.lower() not in _LINKING | _ARTICLES]
    return " ".join(words) if 0 < len(words) <= 3 and len("".join(words)) > 1 else ""


def _only_links(reported: ReportedValue) -> bool:
    """Whether the words before a value only link it to the value before, or are its unit: ``after {} batches``."""
    if _follows_unit(reported):
        return True
    words = re.findall(r"[A-Za-z]+", _ESCAPES.sub("", reported.before))
    return bool(words) and reported.position > 0 and all(word.lower() in _LINKING for word in words)


def _follows_unit(reported: ReportedValue) -> bool:
    """Whether nothing but the unit of the value before stands before a value: ``0.5 s/epoch 83 it/s``."""
    return reported.position > 0 and reported.before.strip(f"{_TRIM} ") in _UNITS


def _last_clause(text: str) -> str:
    """Last words of a text that can name something, without punctuation."""
    clean = _OPENED.sub("", _ESCAPES.sub("", text))
    ending = re.split(r"[|;\n\t\[\]]", clean)[-1]
    if not re.search(r"[A-Za-z]", ending):
        return ""
    named = [clause for clause in clauses_of(clean, _BREAKS, _TRIM) if re.search(r"[A-Za-z]", clause)]
    if not named:
        return ""
    split = split_of(named[0]) if len(named) > 1 and len(named[0].split()) <= 2 else ""
    words = named[-1].split()[-MAX_WORDS:]
    chosen = " ".join(words[1:] if len(words) > 1 and words[0].lower() in _ARTICLES else words)
    return f"{split} {chosen}" if split and not split_of(chosen) else chosen


def _tidy_tag(tag: str) -> str:
    return re.sub(r"\s+", " ", tag).strip(" :/=") or tag


def without_settings(tag: str) -> str:
    """Leave parts out of a tag that nothing fills at run time: ``run_{args.name}/losses/box``."""
    parts = [part for part in tag.split("/") if "{" not in part]
    return "/".join(parts) if any(re.search(r"[A-Za-z]", part) for part in parts) else tag


def plain_variable(variable: str) -> str:
    """Variable as a name: without ``self.``, calls and quotes."""
    short = re.sub(r"\[(?:['\"]([^'\"\]]*)['\"]|(\d+)|[^\]]*)\]", _index_word, variable.removeprefix("self."))
    return re.sub(r"\(\)|[\"']", "", short).strip() or variable


def _index_word(index: re.Match[str]) -> str:
    """Key or number of an index; nothing for an index that varies."""
    word = index[1] or index[2]
    return f" {word}" if word else ""


def label_for(flow: Evaluator, reported: ReportedValue, others: list[ReportedValue]) -> ast.expr | None:
    """Find the plain name of a text, reported before the value in the same text, that tells series apart."""
    if reported.label is not None:
        return reported.label
    for other in others:
        # The name first: a text may have thousands of values, and each is asked about every other one.
        is_class = _NUMBERS_CLASS.search(other.before) is not None
        is_label = isinstance(other.expr, ast.Name) and (is_class or other.expr.id in _LABEL_NAMES)
        # A value that a function of the text's computes is recorded there, where the text's own names are not known.
        if (
            not is_label
            or other.scope.unit is not reported.scope.unit
            or other.position >= reported.position
            or re.search(r"[dfeg]$", other.spec)
        ):
            continue
        value = flow.resolved(other.expr, other.scope)
        if (value.has(From.TEXT) and not value.has(*METRIC_ORIGINS)) or value.has(From.UNKNOWN) or not value.origins:
            return other.expr
        if is_class and not value.has(*METRIC_ORIGINS):
            return other.expr
    return None
