"""Counts, and what is made of them: most are no metrics, but shares, means and numbers of right answers are."""

from __future__ import annotations

import ast

from deviate.lexicon.words import is_counting, is_episode_length, is_metric_word, meaning_of, outcome_of, words_of
from deviate.source.flow.evaluator import Evaluator
from deviate.source.flow.values import From, Instance
from deviate.source.index import Scope, bindings_of
from deviate.source.metrics.finding import DECIMALS, is_shown_as_metric
from deviate.source.metrics.forms import is_number, is_share
from deviate.source.metrics.names import text_name, words_before
from deviate.source.metrics.verdict import Case, Verdict, last_name, names_position, names_quality
from deviate.source.sinks.rows import TRACKERS
from deviate.source.syntax import called_name, text_of, unpacked

#: Names given names are followed this far.
_MAX_NAMES = 3
#: Functions that make one number of what was kept of each example.
_AVERAGES = {"mean", "nanmean", "average", "avg"}
#: Qualities that may be no more than how many of something there are.
_COUNTED = {"correct", "corrects", "error", "errors", "failures", "hit", "hits", "mistakes", "right", "solved",
            "success", "total", "violations", "win", "wins", "wrong"}  # fmt: skip


def of_outcomes(case: Case) -> Verdict | None:
    """Return the verdict on lengths of episodes, and on counts of right and wrong predictions; None for others."""
    if case.value.has(From.COUNT, From.TOTAL) and is_episode_length(case.description):
        return Verdict(0.6, "the length of an episode", meaning_of(case.description))
    outcome = outcome_of(case.name)
    if outcome is not None and _is_count_of_outcomes(case):
        return Verdict(0.45, "counts right or wrong predictions", outcome)
    return None


def of_counts(case: Case, earlier: str) -> Verdict | None:
    """Return the verdict on what is made of counts and constants alone and is a metric all the same, None for others.

    `earlier` is the name that the text gave to the value before, where that names this one too.
    """
    if _is_share_of_counts(case):
        return Verdict(0.45, "counts, named like a metric", case.meaning)
    tracked = case.sink in {*TRACKERS, "visdom"}
    name = "" if is_called_metric(case, earlier) else case.name
    if is_shown_as_metric(case.flow, case.value, case.reported, name, case.description, is_tracked=tracked):
        return Verdict(0.42, "named and shown like a metric", case.meaning)
    if _is_said_quality(case, f"{case.reported.tag} {text_name(case.reported, case.variable, earlier)}"):
        return Verdict(0.42, "named like a metric by the text, too", case.meaning)
    return None


def is_called_metric(case: Case, earlier: str) -> bool:
    """Whether the text right before a value is the name of a metric: ``loss: {total / n}``, ``loss {epoch}: {total}``.

    A whole number after a word that counts is what that word says: ``loss at step {step}``.
    """
    said = words_before(case.reported)
    if names_position(case.name) or not is_metric_word(said or earlier):
        return False
    is_exact = DECIMALS.search(case.reported.spec) is not None or is_share(
        case.flow, case.reported.expr, case.reported.scope
    )
    return is_exact or not is_counting("".join(words_of(said)[-1:]))


def _is_count_of_outcomes(case: Case) -> bool:
    """Whether a number is counted; ``fn`` may also be a function, and ``tp`` a setting, where nothing counts it."""
    value, reported = case.value, case.reported
    is_short = len(last_name(text_of(reported.expr)).rpartition("_")[2]) < 3
    is_counted = value.has(From.COUNT, From.TOTAL) or (not is_short and value.has(From.CONSTANT))
    return is_counted and not (reported.mapping or value.refs or value.has(From.PATH, From.TEXT, From.SCHEDULE))


def _is_said_quality(case: Case, said: str) -> bool:
    """Whether text and variable name one quality that is computed of counts, and is none: ``f1 score: {f1}``."""
    name, value = case.name, case.value
    counted = value.has(From.TOTAL, From.COUNT) and not value.has(From.SCHEDULE, From.PATH, From.CLOCK, From.RANDOM)
    is_count = not _COUNTED.isdisjoint((*words_of(name), *words_of(said)))
    is_named = is_metric_word(name) and is_metric_word(said) and names_quality(name) and names_quality(said)
    return counted and is_named and not is_count and meaning_of(name) == meaning_of(said)


def _is_share_of_counts(case: Case) -> bool:
    """Whether counts were made into what has the name of a quality: ``precision = hits / found``."""
    flow, value, reported, last = case.flow, case.value, case.reported, case.name
    is_divided = value.has(From.COUNT) and is_share(flow, reported.expr, reported.scope)
    counted = {From.COUNT, From.TOTAL, From.CONSTANT, *([From.SETTING] if is_divided else [])}
    if not value.plain() <= counted or not value.plain():
        return False
    is_averaged = _is_averaged(flow, reported.expr, reported.scope)
    if not (value.has(From.COUNT) or is_averaged):
        # Of lengths alone, only what is divided: ``precision = len(right) / len(found)``.
        is_shown = DECIMALS.search(reported.spec) is not None or is_metric_word(last)
        is_named = value.has(From.TOTAL) and is_shown and names_quality(last)
        return is_named and is_share(flow, reported.expr, reported.scope)
    if case.sink in TRACKERS and is_metric_word(reported.tag) and names_quality(reported.tag):
        return True
    is_strong = is_metric_word(last) and is_number(flow, reported, case.sink)
    return names_quality(last) and (is_strong or is_averaged or is_share(flow, reported.expr, reported.scope))


def _is_averaged(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether a mean is taken, by a function or by a meter of the project, or a name was given one: ``exact.avg``."""
    if isinstance(expr, ast.Name) and depth < _MAX_NAMES:
        given = ((unpacked(each), each.scope) for each in bindings_of(expr.id, scope) if each.kind == "assign")
        return any(value is not None and _is_averaged(flow, value, home, depth + 1) for value, home in given)
    if isinstance(expr, ast.Call):
        return called_name(expr) in _AVERAGES
    if not isinstance(expr, ast.Attribute) or expr.attr not in _AVERAGES:
        return False
    return any(isinstance(ref, Instance) for ref in flow.resolved(expr.value, scope).refs)
