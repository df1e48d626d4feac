"""``deviate baseline`` and ``deviate judge`` on typed values and stored experiments: answers, status, counts."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from compared_sides import write_experiment

import deviate as deviate_api
from deviate.cli.main import group
from deviate.core.errors import BadOption
from deviate.facts.judging import widen_floor
from deviate.store.folders import Workspace

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


@pytest.mark.parametrize("setting", ["tries=2", "tries=200", "max=5", "spread=true"])
def test_the_rule_of_a_floor_holds_for_all_its_tries(project, setting):
    floor = ("baseline", "--metric", "val acc", *typed(*FLOOR))
    deviate(*floor)
    deviate(*floor, "--set", "tries=3")
    assert judged(*typed(96.0))[1]["tries"] == 3
    with pytest.raises(BadOption, match="changes were judged against these runs with other tries, max or spread"):
        deviate(*floor, "--set", setting)
    assert judged(*typed(96.1))[1]["attempt"] == 2
    deviate(*floor, *typed(97.0), "--set", setting)
    again = judged(*typed(96.0))[1]
    assert (again["attempt"], again["floors"], again["tries_in_all"]) == (1, 2, 3)


def test_runs_that_a_floor_gets_meanwhile_lose_no_try(project):
    workspace = Workspace(project)
    deviate("baseline", "--metric", "val acc", *typed(*FLOOR[:5]))
    assert judged(*typed(96.0))[0] == 1
    wider = widen_floor(workspace, "", FLOOR)
    assert (wider.values, [each.values for each in wider.changes]) == (FLOOR, [[96.0]])
    assert widen_floor(workspace, "another:algo", [*FLOOR, 1.0]).values == FLOOR


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


def test_runs_that_differ_less_are_kept_where_that_was_asked_for(project):
    floor, middle = [float(value) for value in range(10)], [4.5] * 20
    deviate("baseline", "--metric", "loss", *typed(*floor))
    assert judged(*typed(*middle))[1]["decision"] == "discard"
    out = " ".join(deviate("baseline", "--metric", "loss", "--set", "spread=true", *typed(*floor, 10.0))[1].split())
    assert "One whose runs differ less is kept after 8 runs at the earliest." in out
    assert "the chance to keep any that has no effect is at most 5%" in out
    status, more = judged(*typed(4.5))
    assert (status, more["counted"], more["beaten"], more["pairs"], more["fewest_more"]) == (3, "spread", 30, 55, 7)
    out = " ".join(deviate("judge", *typed(4.5))[1].split())
    assert "1 run of the change lies between two of the baseline's in 30 of 55 cases, a third without effect" in out
    status, kept = judged(*typed(*middle))
    assert (status, kept["decision"], kept["counted"], kept["runs"], kept["sd"]) == (0, "keep", "spread", 8, 0.0)
    assert (kept["alpha"], kept["p"] <= kept["level"], kept["false_keeps"] <= 0.05) == (0.05, True, True)
    # The new floor has its eight runs, and the wish goes on.
    loop = json.loads((project / ".deviate" / "judge.json").read_text())
    assert (loop["rule"]["floor"], loop["spread"]["floor"]) == (8, 8)


def test_runs_that_seemed_to_differ_less_and_do_not_are_discarded(project):
    deviate("baseline", "--metric", "loss", "--set", "spread=true", *typed(*range(10)))
    assert judged(*typed(5.5))[0] == 3
    status, gone = judged(*typed(5.5, 11.0))
    assert (status, gone["counted"]) == (1, "spread")
    out = " ".join(deviate("judge", *typed(5.5, 11.0))[1].split())
    assert "Further runs are unlikely to show that its runs differ less." in out


def test_a_floor_that_is_too_small_for_spreads_says_so_and_leaves_values_the_whole_rate(project):
    out = deviate("baseline", "--metric", "loss", "--set", "spread=true", *typed(1.0, 2.0, 3.0))[1]
    assert "With 3 baseline runs none is kept because its runs differ less." in " ".join(out.split())
    loop = json.loads((project / ".deviate" / "judge.json").read_text())
    assert (loop["rule"]["alpha"], loop["spread"]["level"]) == (0.05, None)
    assert judged(*typed(2.5))[1]["alpha"] == 0.05


def test_values_whose_sum_no_number_holds_are_judged_without_a_mean(project):
    status, out = deviate("baseline", "--metric", "val acc", "--json", *typed(*[1.7e308, -1.7e308] * 3), "-n", 10**40)
    assert (status, json.loads(out)["wanted"]) == (0, 50)
    answer = judged(*typed(1e308, 1e308))[1]
    assert (answer["mean_floor"], answer["sd_floor"], answer["floors"]) == (0.0, None, 1)
    assert "baseline" in deviate("judge", *typed(1e308, 1e308))[1]


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


def test_runs_of_another_environment_are_not_judged(project):
    write_experiment(project, "base", {"val acc": FLOOR}, cpu="Xeon")
    write_experiment(project, "moved", {"val acc": [99.0] * 5}, cpu="EPYC")
    deviate("baseline", "base")
    with pytest.raises(BadOption, match="not that of the baseline: cpu was Xeon and is EPYC") as refused:
        judged("moved")
    assert refused.value.hint.endswith("deviate baseline -- python train.py")
    assert json.loads((project / ".deviate" / "judge.json").read_text())["changes"] == []


@pytest.mark.parametrize(("name", "better", "refused"), [("acc", "higher", True), ("loss", "lower", False)])
def test_percent_is_not_judged_beside_fractions(project, name, better, refused):
    deviate("baseline", *typed(*(each / 100 for each in FLOOR)), "--metric", name, "--set", f"better={better}")
    if not refused:
        assert judged(*typed(97.0))[0] == 1
        return
    with pytest.raises(BadOption, match=r"like a fraction and the other like percent: 0\.9\d* in the baseline, 97"):
        deviate("judge", *typed(97.0))
    assert json.loads((project / ".deviate" / "judge.json").read_text())["changes"] == []


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
