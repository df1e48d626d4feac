"""``deviate check`` on experiments in a workspace: outcomes, exit status, formats, and what it refuses."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from compared_sides import side, side_metric, write_experiment
from scipy import stats

import deviate
from deviate.cli.main import group
from deviate.errors import BadOption
from deviate.gate import parse_drops
from deviate.report.gate import build_gate
from deviate.report.gate_parts import Drop, GateAsked
from deviate.report.gate_sentences import show_p
from deviate.report.writers.gate_json import render_gate_json
from deviate.report.writers.gate_junit import render_gate_junit
from deviate.report.writers.gate_terminal import render_gate_terminal

RNG = np.random.default_rng(8)
BASE = {"val acc": (90 + RNG.standard_normal(8)).tolist(), "val loss": (0.3 + 0.01 * RNG.standard_normal(8)).tolist()}
OTHER = RNG.standard_normal(8)
SAME = {
    "val acc": (OTHER - OTHER.mean() + np.mean(BASE["val acc"]) - 0.05).tolist(),
    "val loss": [1.01 * value for value in BASE["val loss"]],
}
WORSE = {"val acc": [value - 4 for value in SAME["val acc"]], "val loss": SAME["val loss"]}


@pytest.fixture(scope="module")
def experiments(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("checked")
    drawn = [f"{k:08x}" for k in range(8)]
    write_experiment(tmp_path, "main", BASE)
    write_experiment(tmp_path, "same", SAME)
    write_experiment(tmp_path, "worse", WORSE)
    write_experiment(tmp_path, "lost", SAME, failed=2)
    write_experiment(tmp_path, "few", {name: values[:4] for name, values in SAME.items()})
    write_experiment(tmp_path, "one", BASE, drawn=drawn)
    write_experiment(tmp_path, "copy", BASE, drawn=drawn)
    return tmp_path


@pytest.fixture
def project(experiments, monkeypatch):
    monkeypatch.chdir(experiments)
    return experiments


def run(*words):
    return CliRunner().invoke(group, ["check", *words], standalone_mode=False)


def check(*words):
    return run(*words).return_value


def test_a_recipe_that_is_no_worse_passes_with_the_p_of_scipy(project):
    done = run("same", "--against", "main", "--metric", "val acc", "--max-drop", "3", "--json")
    assert done.return_value == 0
    found = json.loads(done.stdout)
    (metric,) = found["metrics"]
    assert (found["schema"], found["passed"], metric["outcome"]) == (1, True, "not worse")
    limit = np.array(BASE["val acc"]) - 3
    reference = stats.ttest_ind(SAME["val acc"], limit, equal_var=False, alternative="greater")
    assert metric["p_not_worse"] == pytest.approx(reference.pvalue)
    assert metric["limit"] == pytest.approx(limit.mean())
    assert metric["ci_room"][0] == pytest.approx(reference.confidence_interval(0.95).low)


def test_a_worse_one_does_not(project):
    done = run("worse", "--against", "main", "--metric", "val acc", "--max-drop", "1")
    assert done.return_value == 1
    assert "val acc (last): worse" in done.stdout
    assert "worse against main does not pass: 1 of 1 metric." in done.stdout
    assert check("worse", "--against", "main", "--metric", "val acc") == 1


def test_what_is_not_known_fails_or_passes_as_asked(project):
    words = ("same", "--against", "main", "--metric", "val acc", "--max-drop", "0.1")
    done = run(*words)
    assert done.return_value == 1
    assert "inconclusive (fails, as asked)" in done.stdout
    assert "runs a side decide it in 4 of 5 cases" in " ".join(done.stdout.split())
    assert check(*words, "--inconclusive", "pass") == 0
    assert check("few", "--against", "main", "--metric", "val acc", "--max-drop", "30") == 1
    assert check("worse", "--against", "main", "--metric", "val acc", "--max-drop", "1", "--inconclusive", "pass") == 1


def test_without_a_drop_only_a_shown_one_fails(project):
    done = run("same", "--against", "main", "--metric", "val acc", "--metric", "val loss")
    assert done.return_value == 0
    assert done.stdout.count("no drop shown") == 2
    assert "would be shown by 4 of 5 such checks" in " ".join(done.stdout.split())


def test_drops_go_with_metrics_in_their_order_and_shares_are_of_the_other_side(project):
    gate = deviate.check("same", "main", {"val acc": "3%", "val loss": 0.05})
    assert gate.passed
    acc, loss = gate.metrics
    assert acc.limit == pytest.approx(0.97 * np.mean(BASE["val acc"]))
    assert (loss.direction, loss.limit) == ("lower", pytest.approx(np.mean(BASE["val loss"]) + 0.05))
    words = ("--metric", "val acc", "--max-drop", "3%", "--metric", "val loss", "--max-drop", "0.05")
    said = json.loads(run("same", "--against", "main", *words, "--json").stdout)
    assert [metric["limit"] for metric in said["metrics"]] == [acc.limit, loss.limit]


def test_runs_that_were_lost_do_not_let_the_others_pass(project):
    gate = deviate.check("lost", "main", {"val acc": 30.0})
    assert (gate.passed, gate.metrics[0].outcome, gate.metrics[0].lost_a) == (False, "runs lost", 2)
    assert "2 of 10 runs of the side that is checked gave no finite value, against 0 of 8" in gate.metrics[0].why[-1]
    assert not deviate.check("lost", "main", {"val acc": 30.0}, inconclusive="pass").passed
    assert deviate.check("same", "lost", {"val acc": 30.0}).passed


def test_values_that_are_not_finite_never_pass_where_the_other_side_has_fewer():
    a = side("new", [side_metric("m", SAME["val acc"][:4], excluded=4)], completed=8, ended=8)
    b = side("old", [side_metric("m", BASE["val acc"])])
    asked = GateAsked(drops={"m": Drop(1.0)}, inconclusive="pass")
    gate = build_gate(a, b, asked, "")
    assert (gate.passed, gate.metrics[0].outcome) == (False, "runs lost")
    assert "whatever --inconclusive says" in gate.metrics[0].why[-1]
    assert "m (last): runs lost\n" in render_gate_terminal(gate)
    (suite,) = ElementTree.fromstring(render_gate_junit(gate).encode())
    assert suite.find("testcase/failure").get("type") == "runs-lost"
    as_many = side("old", [side_metric("m", BASE["val acc"][:4], excluded=4)], completed=8, ended=8)
    gate = build_gate(a, as_many, asked, "")
    assert (gate.passed, gate.metrics[0].outcome) == (True, "inconclusive")


FRACTIONS = [value / 100 for value in BASE["val acc"]]


def test_fractions_against_percent_are_refused(project):
    a, b = side("new", [side_metric("acc", SAME["val acc"])]), side("old", [side_metric("acc", FRACTIONS)])
    for one, other in ((a, b), (b, a)):
        with pytest.raises(BadOption, match=r"like a fraction in old .* and like percent in new") as refused:
            build_gate(one, other, GateAsked(drops={"acc": Drop(0.5)}), "")
        assert "into the unit of the other" in refused.value.hint
    loss = [side("x", [side_metric("acc", values, kind="loss")]) for values in (FRACTIONS, BASE["val acc"])]
    assert build_gate(*loss, GateAsked(drops={"acc": Drop(0.5)}), "").metrics[0].outcome == "worse"


def test_a_limit_that_lets_anything_pass_is_pointed_out_in_every_format():
    b = side("old", [side_metric("acc", FRACTIONS)])
    fallen = side("new", [side_metric("acc", [value - 0.37 for value in FRACTIONS])])
    gate = build_gate(fallen, b, GateAsked(drops={"acc": Drop(0.5)}), "")
    said = " ".join(render_gate_terminal(gate).split())
    assert f"! acc: the limit 0.5 is {50 / np.mean(FRACTIONS):.0f}% of the mean of old (0.89" in said
    assert "would pass; if points of a percentage are meant, type --max-drop 0.005." in said
    assert json.loads(render_gate_json(gate))["warnings"][0]["slug"] == "limit-wide"
    (out,) = ElementTree.fromstring(render_gate_junit(gate).encode()).findall("testsuite/system-out")
    assert out.text.startswith("warning: acc: the limit 0.5 is ")

    def told(drop, direction="higher"):
        found = build_gate(b, fallen, GateAsked(drops={"acc": drop}, directions={"acc": direction}), "").warnings
        return [warned.message for warned in found if warned.slug == "limit-wide"]

    sds = 0.103 / np.std(FRACTIONS, ddof=1)
    assert told(Drop(0.103))[0].startswith(f"acc: the limit 0.103 is {sds:.0f} SDs of new (")
    assert "more than a fifth of the mean of new: a rise to" in told(Drop(0.25, True), "lower")[0]
    assert told(Drop(0.02)) == told(Drop(0.02, True)) == told(Drop()) == []


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_the_distance_to_the_limit_says_on_which_side_of_it(direction):
    a, b = (side(label, [side_metric("m", BASE["val acc"], direction=direction)]) for label in ("new", "old"))
    within = build_gate(a, b, GateAsked(drops={"m": Drop(3.0)}), "").metrics[0].why[1]
    assert f"the mean is 3.0 {'above' if direction == 'higher' else 'below'} it, within the limit (90% CI of" in within
    worse = [value + (-4 if direction == "higher" else 4) for value in BASE["val acc"]]
    a = side("new", [side_metric("m", worse, direction=direction)])
    beyond = build_gate(a, b, GateAsked(drops={"m": Drop(3.0)}), "").metrics[0].why[1]
    assert "CI of the distance: 0." in beyond
    assert f"{'below' if direction == 'higher' else 'above'} it, beyond the limit" in beyond


def test_a_p_near_alpha_is_not_written_as_alpha():
    assert [show_p(p, 0.05) for p in (0.0504, 0.04996, 0.05, 0.0512)] == ["= 0.0504", "= 0.04996", "= 0.05", "= 0.051"]
    assert show_p(0.01004, 0.01) == "= 0.01004"


def test_bit_identical_partners_pass(project):
    gate = deviate.check("copy", "one", {"val acc": 0.1, "val loss": 0})
    assert [metric.outcome for metric in gate.metrics] == ["not worse", "no drop shown"]
    assert "Each run gave exactly the value" in gate.metrics[0].why[-1]


def test_false_alarms_are_adjusted_and_passes_are_not(project):
    drops = {"val acc": 3.0, "val loss": 0.05}
    both, one = deviate.check("same", "main", drops), deviate.check("same", "main", {"val acc": 3.0})
    assert both.metrics[0].p_not_worse == one.metrics[0].p_not_worse
    worse = deviate.check("worse", "main", drops).metrics[0]
    assert worse.p_worse_adjusted == pytest.approx(2 * worse.p_worse)


def test_junit_holds_a_case_a_metric(project):
    words = ("--metric", "val acc", "--max-drop", "1", "--metric", "val loss", "--max-drop", "1%")
    done = run("worse", "--against", "main", *words, "--inconclusive", "pass", "--junit", "gate.xml")
    assert done.return_value == 1
    assert "written to gate.xml" in done.stderr
    root = ElementTree.parse(project / "gate.xml").getroot()
    (suite,) = root
    assert (root.tag, suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("testsuites", "2", "1", "1")
    acc, loss = suite.findall("testcase")
    assert acc.find("failure").get("message") == "val acc: worse"
    assert loss.find("skipped") is not None
    assert not list(project.glob(".gate.xml*"))


def hostile_gate():
    name = 'a<b & "c" ]]> \x1b[31m\x00\ufffe\ud800'
    metric = side_metric(name, SAME["val acc"])
    other = side_metric(name, BASE["val acc"])
    return name, build_gate(side("new", [metric]), side("old", [other]), GateAsked(drops={name: Drop(0.1)}), "deviate")


def test_hostile_names_make_valid_documents():
    _, gate = hostile_gate()
    (case,) = ElementTree.fromstring(render_gate_junit(gate).encode()).iter("testcase")
    assert case.get("name").startswith('a<b & "c" ]]>')
    assert json.loads(render_gate_json(gate).encode())["metrics"][0]["name"].startswith("a<b")
    assert "\x1b" not in render_gate_terminal(gate, 80)


def test_the_terminal_is_not_left(project):
    text = render_gate_terminal(deviate.check("same", "main", {"val acc": 0.1}), 60)
    assert max(len(line) for line in text.splitlines()) <= 60


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("same", "--against", "main"), "a check needs a metric"),
        (("same", "--against", "main", "--metric", "vall"), "no metric 'vall' in same"),
        (("same", "--against", "nothing", "--metric", "val acc"), "nothing"),
        (("same", "--against", "same", "--metric", "val acc"), "are the same runs"),
        (("same", "--against", "main", "--metric", "val acc", "--max-drop", "x"), "no number of at least 0"),
        (("same", "--against", "main", "--metric", "val acc", "--max-drop", "-1"), "no number of at least 0"),
        (("same", "--against", "main", "--metric", "val acc", "--max-drop", "1", "--max-drop", "2"), "2 --max-drop"),
        (("same", "--against", "main", "--metric", "val acc", "--metric", "val acc"), "named twice"),
        (("same", "--against", "main", "--metric", "val acc", "--alpha", "0.5"), "--alpha must be above 0"),
        (("same", "--against", "main", "--metric", "val acc", "--direction", "val acc=up"), "expected higher or lower"),
        (("same", "--against", "main", "--metric", "val acc", "--junit", "no/such.xml"), "no such folder"),
        (("same", "--against", "main", "--metric", "val acc", "--match", "x"), "is not NAME=VALUE"),
    ],
)
def test_bad_questions_are_refused(project, words, said):
    done = run(*words)
    assert done.exception.exit_status == 2
    assert said in done.exception.message


def test_a_metric_without_a_direction_is_refused_until_it_has_one():
    a, b = (side(label, [side_metric("m", BASE["val acc"], direction=None)]) for label in ("new", "old"))
    with pytest.raises(BadOption, match="higher or lower values of 'm'"):
        build_gate(a, b, GateAsked(drops={"m": Drop(1.0)}), "")
    assert build_gate(a, b, GateAsked(drops={"m": Drop(5.0)}, directions={"m": "lower"}), "").passed


def test_a_share_of_values_around_zero_is_refused():
    a, b = (side(label, [side_metric("m", [-1.0, 0.5, 1.0, 2.0, 3.0])]) for label in ("new", "old"))
    with pytest.raises(BadOption, match="not all on one side of zero"):
        build_gate(a, b, GateAsked(drops={"m": Drop(0.02, True)}), "")


def test_a_pass_of_a_noisier_side_is_qualified():
    a = side("new", [side_metric("m", 90 + 4 * (np.array(SAME["val acc"]) - 90))])
    b = side("old", [side_metric("m", BASE["val acc"])])
    (metric,) = build_gate(a, b, GateAsked(drops={"m": Drop(30.0)}), "").metrics
    assert "times that of the other side" in metric.why[-1]


def test_names_and_order_of_drops():
    assert parse_drops(["a", "b"], ["1", "2%"]) == {"a": Drop(1.0), "b": Drop(0.02, True)}
    assert parse_drops(["a", "b"], ["b=2", "1"]) == {"a": Drop(1.0), "b": Drop(2.0)}
    assert parse_drops([], ["x=y=0.5"]) == {"x=y": Drop(0.5)}
    for metrics, texts in (([], ["1"]), (["a"], ["=1"]), (["a"], ["a=1", "a=2"]), (["a"], ["a=nan"])):
        with pytest.raises(BadOption):
            parse_drops(metrics, texts)
