"""Which source is said to bring most."""

import msgspec
import numpy as np
import pytest
import report_cases as cases

from deviate.core.factors import SEEDED
from deviate.facts import sources
from deviate.facts.metric import MetricSpread, metric_spreads
from deviate.facts.proof import Evidence
from deviate.facts.samples import Sample
from deviate.facts.sources import SpreadAcross, VariantSpread, source_of, spread_across
from deviate.report.topics.headline import source_sentences

LEVEL = 0.95


def measured(sd, n=12, seed=0) -> MetricSpread:
    """Values whose SD is exactly `sd`."""
    values = np.random.default_rng(seed).normal(size=n)
    values = (90 + sd * (values - values.mean()) / values.std(ddof=1)).tolist() if sd else [90.0] * n
    (metric,) = metric_spreads(
        [Sample(name="test acc", aggregate="last", values=values, runs=list(range(n)))], LEVEL, seed=0
    )
    return metric


def leading_source(metrics, level):
    return _said(level, leading=sources.leading_source(metrics, level))


def _said(level, **facts):
    table = SpreadAcross(metric="test acc", aggregate="last", unit="", whole="", rows=[], **facts)
    return " ".join(source_sentences(table, level))


def test_sources_that_can_be_told_apart_are():
    said = leading_source({"init": measured(5.0), "shuffle": measured(0.5, seed=1), "algo": measured(9)}, LEVEL)
    assert said.startswith("init matters more than shuffle (95% CI of the ratio of their SDs ")


def test_sources_that_cannot_are_not():
    said = leading_source({"init": measured(1.1), "shuffle": measured(1.0, seed=1)}, LEVEL)
    assert "These runs do not show whether init or shuffle matters more" in said


def test_too_few_runs_are_said():
    said = leading_source({"init": measured(1.1, n=3), "shuffle": measured(1.0, n=3, seed=1)}, LEVEL)
    assert "needs 5 runs or more of each" in said


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"init": measured(1.0), "algo+impl": measured(1.0)},
        {"init": measured(0), "shuffle": measured(0)},
        {"algo": measured(1.0), "as-is": measured(1.0), "bit": measured(1.0), "init,shuffle": measured(1.0)},
    ],
)
def test_without_two_sources_alone_nothing_is_said(metrics):
    assert leading_source(metrics, LEVEL) == ""


def ranked(**sds):
    rows = [
        VariantSpread(variant=name, n=4, mean=0.0, sd=sd, ci_sd=measured(1.0).ci_sd, relative=None)
        for name, sd in sds.items()
    ]
    table = SpreadAcross(metric="test acc", aggregate="last", unit="%", whole="", rows=rows)
    return source_sentences(table, LEVEL)


def test_what_varies_is_ranked_by_its_sd():
    said = ranked(init=0.4, impl=0.0, shuffle=1.25, control=0.0, layers=None)
    assert said == ["SD of test acc by what varies: shuffle 1.2, init 0.40; equal in all runs of impl and control."]
    assert ranked(impl=0.0, control=0.0) == ["test acc: equal in all runs of impl and control."]
    assert ranked(impl=None, control=None) == []


def test_what_nothing_is_drawn_for_is_not_said_to_have_no_effect():
    found = {"augment": "absent", "shuffle": "identical", "control": "identical"}
    variants = [
        msgspec.structs.replace(
            cases.sources().facts.variants[0],
            variant=name,
            metrics=[msgspec.structs.replace(measured(0.0), name="test acc")],
            evidence=[Evidence(name=name, meant="varies" if name in SEEDED else "held", found=shown, groups=[])],
        )
        for name, shown in found.items()
    ]
    said = source_sentences(spread_across(variants, LEVEL)[0], LEVEL)
    assert said == ["test acc: equal in all runs of shuffle and control; no draws for augment."]


def test_only_one_factor_alone_is_a_source():
    assert [source_of(name) for name in ("init", "impl")] == ["init", "impl"]
    assert {source_of(name) for name in ("algo", "init,shuffle", "control", "as-is", "bit", "platform", "other?")} == {
        ""
    }
