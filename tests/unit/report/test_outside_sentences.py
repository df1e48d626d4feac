"""What lies outside the project and makes runs no identical or independent ones is said by name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deviate.facts.proof import Evidence, VariantProof
from deviate.observe.events import UnseenPrograms
from deviate.observe.surroundings import ChangedInput, ChangedVariable, KeptState
from deviate.report.topics.caveats import surrounding_caveats
from deviate.report.topics.headline import screen_headline
from deviate.report.topics.varied import varied_statement

GROUPS = [["control-0"], ["control-1"]]


def caveats(*, runs=(), kept=(), changed=(), variables=()):
    variants = [SimpleNamespace(runs=list(runs))]
    facts = SimpleNamespace(
        variants=variants, state_kept=kept, inputs_changed=changed, variables_changed=list(variables)
    )
    return {each.severity: each.message for each in surrounding_caveats(facts)}


def unseen(command: str, *, trains: bool):
    return SimpleNamespace(name="control-0", unseen=UnseenPrograms(commands=[command], trains=trains))


@pytest.mark.parametrize(
    ("trains", "severity", "said"),
    [
        (True, "warning", "`train.py` (control-0) ran without Deviate's instruments: nothing is known of what it drew"),
        (False, "note", "Not instrumented, beside the training: `train.py` (control-0)."),
    ],
)
def test_a_program_that_nobody_saw_is_named(trains, severity, said):
    assert caveats(runs=[unseen("train.py", trains=trains)])[severity].startswith(said)


def test_state_that_runs_hand_on_is_named_with_its_writers_and_readers():
    files = [KeptState(path=path, writers=["as-is-0"], readers=["as-is-1"]) for path in ("/c/state.json", "/c/log")]
    said = caveats(kept=files)["warning"]
    assert "as-is-1 read what as-is-0 had left in /c/state.json, outside the project" in said
    assert "The same holds for /c/log." in said


def test_inputs_and_variables_that_changed_are_named_with_the_runs():
    assert (
        "Runs differ in what ../data held when they read it: control-0 | control-1."
        in (caveats(changed=[ChangedInput(path="../data", groups=GROUPS)])["warning"])
    )
    named = [ChangedVariable(path=path, groups=GROUPS, named=path == "SCALE") for path in ("SCALE", "OTHER")]
    said = caveats(variables=named)
    assert "the environment variable SCALE, which the project names: control-0 | control-1." in said["warning"]
    assert said["note"] == "Runs differ in environment variables that the project does not name: OTHER."


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "No fingerprint was taken, so what varied between these runs is not known."),
        ({"files_known": True, "evidence": [Evidence(name="init", meant="held", found="absent", groups=[])]},
         "No random draws were seen in these runs."),
        ({"runs": [SimpleNamespace(status="completed", unseen=UnseenPrograms(commands=["train.py"], trains=True))]},
         "What varied between these runs is not known: `train.py` ran without Deviate's instruments."),
    ],
)  # fmt: skip
def test_without_draws_that_were_seen_nothing_is_said_to_have_varied(known, said):
    proof = VariantProof(variant="algo+impl", planned=2, completed=2, **{"runs": [], **known})
    assert varied_statement(proof) == said


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("kept", "These are not independent runs: one went on from what another had left in /c/state.json."),
        ("changed", "These are not identical runs: /c/state.json was not the same for all of them."),
    ],
)
def test_what_lies_outside_comes_before_any_number(field, said):
    files = {"kept": [], "changed": [], field: [SimpleNamespace(path="/c/state.json")]}
    facts = SimpleNamespace(evidence=[], completed=0, variant="as-is", runs=[], metrics=[], stopped=None, **files)
    assert screen_headline(facts)[0] == said
