"""``deviate baseline`` and ``deviate judge`` on typed values and stored experiments: answers, status, counts."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from compared_sides import write_experiment

import deviate as deviate_api
from deviate.cli.main import group
from deviate.core.errors import BadOption

FLOOR = (97 + 0.2 * np.random.default_rng(4).standard_normal(10)).round(2).tolist()


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(*values):
    return [word for value in values for word in ("--value", str(value))]


def deviate(*words):
    done = CliRunner().invoke(group, list(words), catch_exceptions=True, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, done.stdout


def judged(*words):
    status, out = deviate("judge", "--json", *words)
    return status, json.loads(out)


def test_a_change_is_run_on_until_it_is_kept_and_is_the_baseline_then(project):
    assert deviate("baseline", "--metric", "val acc", *typed(*FLOOR))[0] == 0
    better = [98.1, 98.3, 98.0, 98.2, 98.4]
    answers = [judged(*typed(*better[:n])) for n in range(1, 6)]
    assert [status for status, _ in answers] == [3, 3, 3, 3, 0]
    assert {each["attempt"] for _, each in answers} == {1}, "a run more is no further try"
    first, last = answers[0][1], answers[-1][1]
    assert (first["fewest_more"], first["most_more"], last["decision"]) == (4, 19, "keep")
    assert last["p"] <= last["level"]
    status, after = judged(*typed(98.1))
    assert (after["floor"], after["floors"], after["tries_in_all"]) == (better, 2, 2)
    assert status in (1, 3)
    assert "Try 1 of 50 against this floor (floor 2 of this project)" in " ".join(
        deviate("judge", *typed(98.1))[1].split()
    )


def test_python_says_what_the_commands_say(project):
    loop = deviate_api.baseline(values=FLOOR, metric="val acc")
    assert (loop.rule.tries, loop.values) == (50, FLOOR)
    better = [98.1, 98.3, 98.0, 98.2, 98.4]
    first = deviate_api.judge(values=better[:1])
    assert (first.decision, first.fewest_more) == ("run more", 4)
    assert str(first).startswith("Run more: ")
    write_experiment(project, "wider", {"val acc": better})
    assert deviate_api.judge(deviate_api.load("wider")).decision == "keep"
    with pytest.raises(BadOption, match="a command, an experiment or values"):
        deviate_api.judge("python train.py", values=better)
    with pytest.raises(BadOption) as wrong:
        deviate_api.baseline("python train.py", name="base")
    assert wrong.value.message == "baseline() takes no keyword 'name'"


def test_a_worse_change_is_discarded_by_its_first_run_and_each_counts(project):
    deviate("baseline", "--metric", "val acc", "--set", "tries=2", *typed(*FLOOR))
    assert [judged(*typed(value))[0] for value in (96.0, 96.1)] == [1, 1]
    status, spent = judged(*typed(96.2))
    assert (status, spent["reason"], spent["floor_more"]) == (3, "spent", 10)
    # The same runs are the same floor, whose tries count on.
    deviate("baseline", "--metric", "val acc", "--set", "tries=2", *typed(*FLOOR))
    out = deviate("judge", *typed(96.2))[1]
    assert "2 changes were judged against this floor. Measure a new one." in " ".join(out.split())


def test_the_same_values_again_are_the_same_try(project):
    deviate("baseline", "--metric", "loss", *typed(*FLOOR))
    assert judged(*typed(90.0)) == judged(*typed(90.0))
    assert judged(*typed(90.0, 91.0))[1]["attempt"] == 1
    assert judged(*typed(91.0))[1]["attempt"] == 2


def test_a_failed_run_is_worse_than_any_and_a_short_floor_asks_for_more(project):
    deviate("baseline", "--metric", "val acc", *typed(*FLOOR))
    status, failed = judged(*typed("nan"))
    assert (status, failed["decision"], failed["values"]) == (1, "discard", [None])
    assert "Its run failed or gave no value." in " ".join(deviate("judge", *typed("nan"))[1].split())
    deviate("baseline", "--metric", "val acc", *typed(97.0))
    status, short = judged(*typed(99.0))
    assert (status, short["reason"], short["floor_more"]) == (3, "floor", 9)
    assert "with 1 baseline run no change can be kept" in " ".join(deviate("judge", *typed(99.0))[1].split())


def test_the_screens_say_how_sure_the_answer_is(project):
    out = " ".join(deviate("baseline", "--metric", "val acc", *typed(*FLOOR))[1].split())
    assert "(10 runs, higher is better). A change is kept after 5 runs at the earliest, and has 20 at the most." in out
    assert "the chance to keep any that has no effect is at most 5%" in out
    more = deviate("judge", *typed(99.0))[1]
    assert "1 run of the change beats the baseline's in 10 of 10 pairs" in " ".join(more.split())
    assert "It needs 4 more at least and 19 at most." in " ".join(more.split())
    assert len(more.splitlines()) <= 12
    assert "Further runs are unlikely" in " ".join(deviate("judge", *typed(90.0))[1].split())
    assert "With 1 baseline run nothing can be kept" in " ".join(
        deviate("baseline", "--metric", "val acc", *typed(97.0))[1].split()
    )


def test_experiments_are_a_baseline_and_changes(project):
    rng = np.random.default_rng(2)
    write_experiment(project, "base", {"val acc": FLOOR})
    write_experiment(project, "wider", {"val acc": (98 + 0.1 * rng.standard_normal(8)).tolist()})
    write_experiment(project, "worse", {"val acc": (95 + 0.1 * rng.standard_normal(8)).tolist()})
    deviate("baseline", "base")
    status, same = judged("base")
    assert (status, same["reason"], same["attempt"]) == (1, "same", 0)
    assert "source, command and settings are those of the baseline" in " ".join(deviate("judge", "base")[1].split())
    assert judged("worse")[0] == 1
    assert judged("worse")[1]["tries_in_all"] == 1, "a change that is judged again is one try"
    status, kept = judged("wider")
    assert (status, kept["runs"], kept["attempt"]) == (0, 5, 2)
    assert judged("base")[1]["baseline"].startswith("wider:")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["judge", "--value", "1"], "there is no baseline to judge against"),
        (["judge"], "a change is a command, an experiment or values"),
        (["baseline"], "a baseline is a command, an experiment or values"),
        (["baseline", "--value", "1"], "it is unknown whether higher or lower values are better"),
        (["baseline", "--value", "nan", "--set", "better=lower"], "no run of the baseline has a value"),
        (["baseline", "--value", "1", "--set", "better=lower", "--set", "tries=0"], "tries 0: expected 1 to 10000"),
        (["baseline", "--value", "1", "--set", "better=lower", "--set", "max=101"], "max 101: expected 1 to 100"),
    ],
)
def test_what_makes_no_sense_is_refused(project, words, message):
    with pytest.raises(BadOption, match=message):
        deviate(*words)
    assert not (project / ".deviate" / "judge.json").exists()
