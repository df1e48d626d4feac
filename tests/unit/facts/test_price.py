"""What holding the implementation costs: a ratio of times from runs made in turn, or the reason why there is none."""

import math

import numpy as np
import pytest
from report_cases import clock, results
from scipy import stats

from deviate.facts.experiment import experiment_facts
from deviate.facts.run import RunResult
from deviate.report.topics.experiment import experiment_page
from deviate.report.topics.headline import price_sentences
from deviate.report.writers.terminal import render_terminal

FREE, HELD = [10.0, 11.0, 12.5, 10.5], [14.0, 15.5, 18.0, 14.5]


def runs(variant, times, *, offset, gpu=True, every=2, **changes):
    """Runs of a variant that begin one after another, another one between each two."""
    return [
        RunResult(
            variant=variant, index=k, status="completed", seconds=seconds, threads=1, has_gpu=gpu,
            started=f"2026-03-01T12:{every * k + offset:02}:00+00:00", **changes,
        )
        for k, seconds in enumerate(times)
    ]  # fmt: skip


def prices(*made, variants=("algo+impl", "algo")):
    values = {name: {"test acc": [90.0 + k for k in range(4)]} for name in variants}
    found = results(values, [run for each in made for run in each])
    return experiment_facts(found, clock())


def test_the_ratio_is_of_pairs_with_its_interval_and_nothing_is_called_better():
    facts = prices(runs("algo+impl", FREE, offset=0), runs("algo", HELD, offset=1))
    (price,) = facts.prices
    logs = np.log(np.array(HELD) / np.array(FREE))
    assert (price.held, price.free, price.pairs) == ("algo", "algo+impl", 4)
    assert price.ratio == pytest.approx(math.exp(logs.mean()))
    ends = stats.t.interval(0.95, 3, logs.mean(), logs.std(ddof=1) / 2)
    assert (price.interval.low, price.interval.high) == pytest.approx(tuple(np.exp(ends)))
    (said,) = price_sentences(facts.prices)
    assert said.startswith("Deterministic kernels take 1.41 times as long (95% CI ")
    assert "better" not in said
    assert "worse" not in said
    for reader in ("screen", "brief", "full"):
        shown = " ".join(render_terminal(experiment_page(facts, reader), 100).split())
        assert "Deterministic kernels take 1.41 times as long" in shown


def test_runs_one_variant_after_the_other_tell_no_price():
    facts = prices(runs("algo+impl", FREE, offset=0, every=1), runs("algo", HELD, offset=30, every=1))
    assert "were not made in turn" in price_sentences(facts.prices)[0]


def test_kernels_that_could_not_vary_are_said_in_its_place():
    facts = prices(runs("algo+impl", FREE, offset=0, gpu=False), runs("algo", HELD, offset=1, gpu=False))
    (said,) = price_sentences(facts.prices)
    assert said.endswith("with pinned threads and no GPU kernels have no effect.")


def test_variants_that_share_a_training_or_differ_in_more_have_no_price():
    shared = prices(runs("algo+impl", FREE, offset=0), runs("algo", HELD, offset=1, same_as="algo+impl-0"))
    assert "two runs or more of each" in price_sentences(shared.prices)[0]
    other = prices(
        runs("algo+impl", FREE, offset=0), runs("control", HELD, offset=1), variants=("algo+impl", "control")
    )
    assert other.prices == []


@pytest.mark.parametrize("variants", [("impl", "control"), ("as-is", "control"), ("init,impl", "init")])
def test_every_two_variants_that_differ_in_it_alone_have_one(variants):
    free, held = variants
    facts = prices(runs(free, FREE, offset=0), runs(held, HELD, offset=1), variants=variants)
    assert [(price.free, price.held) for price in facts.prices] == [variants]
