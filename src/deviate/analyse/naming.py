"""Readable, unique names for metrics."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

from deviate.analyse.abstract import METRIC_ORIGINS, TEXT, UNKNOWN
from deviate.analyse.texts import Shown
from deviate.analyse.words import is_metric_word, meaning_of, split_of, words_of

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[/?[a-z ]+\]")
_BREAKS = re.compile(r"[\n\r\t|;,\[\]{}<>()*#]+|\s-+\s|={2,}|-{2,}|>{2,}| {3,}|\.\s|:\s+(?=\w)")
#: ``D(G(z))`` is a name, not a remark in parentheses.
_CALLS = re.compile(r"\b\w+\((?:[^()\s]|\([^()\s]*\))*\)")
_TRIM = " :=-_/\\.,'\"~+@!?&%$^`→"
MAX_WORDS = 6
#: A clock reading that a duration is measured from.
_START = re.compile(r"(^|[._])(start|begin|since|tic|last|prev|t0)([._]|$)|^(t|t\d|end|starttime|startTime)$")


def name_of(shown: Shown, variable: str, earlier: str, speed: bool = False, cost: bool = False) -> str:
    """Name a value by its tag, the text before it, the text after it, or its variable.

    Parameters
    ----------
    shown : Shown
        The value, with its tag and the text around it.
    variable : str
        Its root.
    earlier : str
        Name that the same text gave to the value before it.
    speed : bool
        Whether it is a time or a rate.
    cost : bool
        Whether it counts what the training took.
    """
    if shown.mapping and not shown.tag:
        return plain_variable(variable)
    if shown.tag and re.search(r"[A-Za-z{]", shown.tag):
        return _tidy_tag(shown.tag)
    if cost:
        return _words_after(shown) or words_before(shown) or plain_variable(variable)
    own = words_before(shown) or (_words_after(shown) if _only_links(shown) else "") or earlier or _words_after(shown)
    if meaning_of(own) is None and meaning_of(earlier) is not None and meaning_of(variable) is not None:
        own = earlier
    if speed and own and meaning_of(own) is None and set(words_of(own)) < set(words_of(variable)):
        return f"{own} time"
    if meaning_of(own) is None and (speed or len(own) <= 2):
        own = "" if meaning_of(variable) is not None or not speed else "time"
    if speed and not own and _START.search(variable):
        return "time"
    return own or plain_variable(variable)


def text_name(shown: Shown, variable: str, earlier: str = "") -> str:
    """Name in the text around a value; empty when the text names nothing."""
    before = words_before(shown)
    if before or earlier:
        return before or earlier
    after = _words_after(shown)
    return after if after and (is_metric_word(after) or meaning_of(variable) is None) else ""


def names_also(earlier: str, variable: str) -> bool:
    """Whether the name of the value before says the same as a variable: ``Train loss 12 0.3``."""
    return bool(earlier) and meaning_of(earlier) is not None and meaning_of(earlier) == meaning_of(variable)


def words_before(shown: Shown) -> str:
    """Last words before a value that can name it: ``converged after`` is ``converged``."""
    words = _last_clause(shown.before).split()
    while words and words[-1].lower() in _LINKING:
        words.pop()
    while len(words) > 1 and words[0].lower() in _LINKING | _ARTICLES:
        words.pop(0)
    return " ".join(words)


def _words_after(shown: Shown) -> str:
    """First words after a value, unless they introduce the next one (``loss: ``)."""
    found = re.match(r"^[%)\]]* ?([A-Za-z][\w /%-]*)(.?)", shown.after)
    if found is None or found[2] in {":", "="}:
        return ""
    words = [word for word in found[1].strip(_TRIM).split() if word.lower() not in _LINKING | _ARTICLES]
    return " ".join(words) if 0 < len(words) <= 3 and len("".join(words)) > 1 else ""


def _only_links(shown: Shown) -> bool:
    """Whether the words before a value only link it to the value before: ``after {} batches``."""
    words = re.findall(r"[A-Za-z]+", _ESCAPES.sub("", shown.before))
    return bool(words) and shown.position > 0 and all(word.lower() in _LINKING for word in words)


_LINKING = {"of", "all", "after", "in", "at", "to", "by", "within", "for", "with", "is", "are", "was", "from", "on",
    "over", "than", "took",
            "runs", "has", "reached", "now", "equals", "and", "the", "be", "takes", "as", "out", "until"}  # fmt: skip
_ARTICLES = {"the", "a", "an", "and", "with", "new", "current", "model", "got", "its"}


def _last_clause(text: str) -> str:
    """Last words of a text that can name something, without punctuation."""
    clean = _CALLS.sub(lambda found: found[0].replace("(", "\x01").replace(")", "\x02"), _ESCAPES.sub("", text))
    ending = re.split(r"[|;\n\t\[\]]", clean)[-1]
    if not re.search(r"[A-Za-z]", ending):
        return ""
    clauses = [clause.strip(_TRIM).replace("\x01", "(").replace("\x02", ")") for clause in _BREAKS.split(clean)]
    named = [clause for clause in clauses if re.search(r"[A-Za-z]", clause)]
    if not named:
        return ""
    split = split_of(named[0]) if len(named) > 1 and len(named[0].split()) <= 2 else ""
    # ``Memory in use (peak - start): `` has a remark in parentheses.
    remark = len(named) > 1 and clean.rstrip(" :=").endswith(")") and meaning_of(named[-1]) is None
    if remark and meaning_of(named[-2]) is not None:
        return " ".join(named[-2].split()[-MAX_WORDS - 2 :])
    chosen = " ".join(named[-1].split()[-MAX_WORDS:])
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


def _index_word(found: re.Match[str]) -> str:
    """Key or number of an index; nothing for an index that varies."""
    word = found[1] or found[2]
    return f" {word}" if word else ""


def label_for(flow: Flow, shown: Shown, others: list[Shown]) -> ast.expr | None:
    """Find the plain name of a text, shown before the value in the same text, that tells series apart."""
    if shown.label is not None:
        return shown.label
    for one in others:
        if one.position >= shown.position or not isinstance(one.expr, ast.Name) or re.search(r"[dfeg]$", one.spec):
            continue
        value = flow.resolved(one.expr, one.scope)
        if value.has(TEXT) and not value.has(*METRIC_ORIGINS) and one.expr.id in LABEL_NAMES:
            return one.expr
        if one.expr.id in LABEL_NAMES and (value.has(UNKNOWN) or not value.origins):
            return one.expr
    return None


LABEL_NAMES = {"split", "phase", "mode", "stage", "name", "key", "k", "tag", "metric", "metric_name", "subset",
    "part", "prefix",
               "title", "task", "dataset", "set_name", "dataset_name", "task_name", "data_name", "label", "kind", "set",
               "fold_name", "loader_name", "env_name", "split_name", "n", "m"}  # fmt: skip


def unique(names: list[str], hints: list[list[str]]) -> list[str]:
    """Make names differ by more than case: add the first hint that tells them apart, then a number."""
    found = list(names)
    for level in range(max((len(one) for one in hints), default=0)):
        for name, count in Counter(one.lower() for one in found).items():
            at = [index for index, one in enumerate(found) if one.lower() == name] if count > 1 else []
            extra = [hints[index][level] if level < len(hints[index]) else "" for index in at]
            if len(set(extra)) > 1:
                for index, word in zip(at, extra, strict=True):
                    if word and word.lower() not in found[index].lower():
                        found[index] = f"{word} {found[index]}" if level == 0 else f"{found[index]} ({word})"
    seen: dict[str, int] = {}
    for index, name in enumerate(found):
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        if seen[name.lower()] > 1:
            found[index] = f"{name} #{seen[name.lower()]}"
    return found
