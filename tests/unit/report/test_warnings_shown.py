"""Where each kind of warning stands: in a line of the screen, behind ``-v`` alone, or nowhere."""

import math

import page_cases
import pytest
import report_cases as cases
from msgspec import structs

from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.proof import Evidence
from deviate.observe.events import EnvironmentDifference, ReplacedSeed, RuntimeNote, Switch, WarnedOperation
from deviate.report.topics.caveat import Caveat, more_warnings, warning_lines
from deviate.report.topics.comparison import comparison_page
from deviate.report.topics.experiment import experiment_page
from deviate.report.writers.terminal import render_terminal

ACC = {"test acc": [96.1, 95.2, 97.3, 96.4]}
FAR = {"test acc": [96.1, 95.2, 97.3, 96.4, 96.2, 95.9, 96.6, 10.0]}
TWO = {"algo+impl": ACC, "control": {"test acc": [96.1] * 4}}


def facts(values=ACC, **more):
    return cases.document(values if "algo+impl" in values else {"algo+impl": values}, **more).facts


def lost(status):
    return facts(runs=[*cases.completed("algo+impl", 3), cases.failed("algo+impl", 3, status=status)])


def proven(name, meant, found):
    evidence = Evidence(name=name, meant=meant, found=found, broken=True, groups=[["algo+impl-0"], ["algo+impl-1"]])
    made = facts(TWO)
    variants = [structs.replace(each, evidence=[evidence]) for each in made.variants[:1]] + made.variants[1:]
    return structs.replace(made, variants=variants)


def operations(*variants):
    warned = [WarnedOperation(operation="scatter_add", runs=["algo+impl-0"])]
    return facts({name: TWO[name] for name in variants}, operations=warned)


SHOWN = {
    "failed": (lambda: lost("failed"), "1 of 4 runs failed"),
    "lost": (lambda: lost("timed-out"), "1 of 4 runs timed out"),
    "missing": (lambda: facts(planned=8), "4 of 8 planned runs have ended"),
    "diverged": (
        lambda: facts({**ACC, "train loss": [0.1, 0.2, math.nan, 0.1]}),
        "1 of 4 runs diverged (train loss not finite in run 2)",
    ),
    "diverged, of several variants": (
        lambda: facts({name: {**of, "train loss": [0.1, 0.2, math.nan, 0.1]} for name, of in TWO.items()}),
        "train loss: the value is NaN in run 2",
    ),
    "other data": (lambda: proven("examples", "held", "varied"), "Data were to be held fixed, yet"),
    "leaked": (lambda: proven("data", "held", "varied"), "was to be held fixed, yet differs between runs"),
    "did not vary": (lambda: proven("init", "varies", "identical"), "was to vary, yet all runs drew the same"),
    "control differs": (
        lambda: facts({"algo+impl": ACC, "control": {"test acc": [96.1, 96.1, 96.2, 96.1]}}),
        "1 of 1 metric differs between runs: test acc",
    ),
    "main metric": (
        lambda: facts({"loss": [0.1, 0.2]}, metrics=[cases.metric("loss"), cases.metric("test acc", line=9)]),
        "Never recorded: test acc (train.py:9)",
    ),
    "environment": (
        lambda: facts(differences=[EnvironmentDifference(name="GPU", values={"A": ["run 0"], "B": ["run 1"]})]),
        "Runs differ in GPU: A (run 0) and B (run 1)",
    ),
    "far": (lambda: facts(FAR), "run 7 (10) lies far from the others"),
    "far, of several variants": (
        lambda: facts({"algo+impl": FAR, "control": {"test acc": [96.1] * 8}}),
        "Far from the other runs in test acc: run 7",
    ),
    "operations, kernels held": (lambda: operations("algo+impl", "control"), "operations without a deterministic form"),
}

UNREAD = [
    RuntimeNote(slug="value-unreadable", message=f"{name}: it holds 2 numbers") for name in ("matrix", "test acc")
]

SHOWN["unread main metric"] = lambda: facts(notes=UNREAD[1:]), "test acc: it holds 2 numbers"

ON_REQUEST = {
    "unread value": (lambda: facts(notes=UNREAD[:1]), "matrix: it holds 2 numbers"),
    "seeds": (
        lambda: facts(seeds=[ReplacedSeed(call="torch.manual_seed", file="train.py", line=12, given="0")]),
        "torch.manual_seed",
    ),
    "switches": (lambda: facts(switches=[Switch(name="torch.use_deterministic_algorithms", value="warn_only")]), ""),
    "equal metric": (
        lambda: facts({**ACC, "val acc": [50.0] * 4}, runs=cases.proven("algo+impl", 4)),
        "The same value in all runs",
    ),
    "operations": (lambda: operations("algo+impl"), "operations without a deterministic form"),
    "other metric": (
        lambda: facts(ACC, metrics=[cases.metric("test acc"), cases.metric("loss", line=9)]),
        "Never recorded: loss (train.py:9)",
    ),
}


def text(made, reader):
    return " ".join(render_terminal(experiment_page(made, reader), 100).split())


@pytest.mark.parametrize("kind", SHOWN)
def test_what_a_reader_has_to_know_stands_on_the_screen_before_the_number(kind):
    make, said = SHOWN[kind]
    before, number, _ = text(made := make(), "screen").partition("mean ±" if len(made.variants) == 1 else "what varied")
    assert number
    assert before.count(said) == 1


@pytest.mark.parametrize("kind", ON_REQUEST)
def test_what_changes_nothing_for_a_reader_is_said_on_request(kind):
    make, said = ON_REQUEST[kind]
    assert "!" not in text(make(), "screen")
    if said:
        assert said not in text(make(), "screen")
        assert said in render_terminal(experiment_page(make(), "full"), 2000)


def test_few_runs_are_told_by_the_interval_alone():
    for reader in ("screen", "brief"):
        assert "!" not in text(cases.single().facts, reader)


def test_of_a_comparison_the_pairing_and_shared_draws_are_said_on_request():
    a, b = page_cases.sides()
    comparison = compare_sides([a, b], ComparisonOptions(), "deviate compare a b")
    screen, full = (render_terminal(comparison_page(comparison, reader), 100) for reader in ("screen", "brief"))
    assert "paired" in full
    assert not {"not paired", "Times are comparable", "!"} & set(screen.split())


def warnings(number, variant="init"):
    return [Caveat(slug=f"s{each}", message=f"Thing {each}: run 3. Reason.", variant=variant) for each in range(number)]


def shown(caveats):
    return [*warning_lines(caveats), *more_warnings(caveats, "deviate report why")]


def test_warnings_of_several_variants_are_one_with_their_names():
    (remarks, more) = shown([*warnings(1), *warnings(1, "shuffle")])
    (remark,) = remarks.remarks
    assert (remark.message, remark.about) == ("Thing 0: run 3", "init and shuffle")
    assert (more.text, more.command) == ("more:", "deviate report why -v")


def test_of_more_than_three_warnings_three_are_shown():
    (remarks, more) = shown(warnings(8))
    assert len(remarks.remarks) == 3
    assert (more.text, more.command) == ("5 more:", "deviate report why -v")
