"""``deviate check`` on experiments in a workspace: outcomes, exit status, formats, and what it refuses."""

import json
import shlex
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from compared_sides import side, side_metric, write_experiment
from msgspec import structs
from scipy import stats

import deviate
from deviate.cli.main import group
from deviate.core.errors import BadOption
from deviate.facts.comparison_options import Drop, GateOptions, parse_drops
from deviate.facts.gate import check_side
from deviate.facts.samples import SampleOptions
from deviate.report.numbers import Numbers
from deviate.report.topics.gate import gate_caveats, gate_page, gate_reasons
from deviate.report.writers.contracts import gate_json
from deviate.report.writers.gate_junit import gate_junit
from deviate.report.writers.registry import writers
from deviate.report.writers.terminal import render_terminal

pytestmark = pytest.mark.long

RNG = np.random.default_rng(8)
BASE = {"val acc": (90 + RNG.standard_normal(8)).tolist(), "val loss": (0.3 + 0.01 * RNG.standard_normal(8)).tolist()}
OTHER = RNG.standard_normal(8)
SAME = {
    "val acc": (OTHER - OTHER.mean() + np.mean(BASE["val acc"]) - 0.05).tolist(),
    "val loss": [1.01 * value for value in BASE["val loss"]],
}
WORSE = {"val acc": [value - 4 for value in SAME["val acc"]], "val loss": SAME["val loss"]}


def terminal(gate, width=100):
    return render_terminal(gate_page(gate, "brief"), width)


def why(gate, index=0):
    return gate_reasons(gate.metrics[index], gate.alpha)


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
    shutil.rmtree(experiments / ".deviate" / "looks", ignore_errors=True)
    return experiments


@pytest.mark.parametrize("options", [(), ("-v",)])
def test_runs_of_the_baseline_that_collapsed_are_said_to_be_left_out(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    write_experiment(tmp_path, "base", {"val acc": [*BASE["val acc"][:7], 10.0]})
    write_experiment(tmp_path, "new", {"val acc": BASE["val acc"]})
    words = ["check", "new", "--against", "base", "--metric", "val acc", "--max-drop", "5", *options]
    said = CliRunner().invoke(group, words)
    (facts,) = json.loads(CliRunner().invoke(group, [*words[:8], "--json"]).stdout)["metrics"]
    assert (facts["n_a"], facts["lost_b"], facts["ended_b"]) == (8, 1, 8)
    assert "1 of 8 runs of base did, and is left out." in " ".join(said.stdout.split())


@pytest.mark.parametrize("other", ["same", "worse"])
@pytest.mark.parametrize("options", [(), ("-v",)])
def test_the_verdict_comes_first(project, other, options):
    words = ["check", other, "--against", "main", "--metric", "val acc", "--max-drop", "3", *options]
    first, *_ = CliRunner().invoke(group, words).stdout.splitlines()
    verdict = "PASS" if other == "same" else "FAIL"
    assert first == f"{verdict}  {other} against main, val acc"


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
    fallen = np.mean(BASE["val acc"]) - np.mean(WORSE["val acc"])
    first, second, *_ = done.stdout.splitlines()
    assert first == "FAIL  worse against main, val acc"
    assert second.split()[:2] == ["drop", f"{fallen:.2f}"]
    assert second.endswith("], allowed 1.00   8 runs of each")
    assert check("worse", "--against", "main", "--metric", "val acc") == 1


def test_the_page_names_a_command_that_asks_the_same(project):
    words = ["same", "--against", "main", "--metric", "val acc", "--max-drop", "val acc=3%", "--metric", "val loss"]
    words += [
        "--set",
        "alpha=0.01",
        "--set",
        "inconclusive=pass",
        "--max-failures",
        "50%",
        "--set",
        "direction=val acc=higher",
    ]
    command = json.loads(run(*words, "--json").stdout)["command"]
    assert command == shlex.join(["deviate", "check", *words])
    again = json.loads(run(*shlex.split(command)[2:], "--json").stdout)
    assert [metric["limit"] for metric in again["metrics"]] == [
        metric["limit"] for metric in json.loads(run(*words, "--json").stdout)["metrics"]
    ]


def test_the_badge_of_a_check_of_too_few_runs_is_not_that_of_a_drop(project):
    few = gate_page(deviate.check("few", "main", {"val acc": 3}).facts, "full").sections[0].blocks[0].badge
    worse = gate_page(deviate.check("worse", "main", {"val acc": 1}).facts, "full").sections[0].blocks[0].badge
    assert (few.text, few.emphasis) == ("undecided", "warning")
    assert (worse.text, worse.emphasis) == ("does not pass", "bad")


def test_what_is_not_known_fails_or_passes_as_asked(project):
    words = ("same", "--against", "main", "--metric", "val acc", "--max-drop", "0.1")
    done = run(*words)
    assert done.return_value == 1
    assert done.stdout.startswith("UNDECIDED  same against main, val acc\n")
    assert " runs of each would decide it\n" in done.stdout
    passed = run(*words, "--set", "inconclusive=pass")
    assert passed.return_value == 0
    assert passed.stdout.startswith("UNDECIDED  same against main, val acc (counts as passed)\n")
    assert check("few", "--against", "main", "--metric", "val acc", "--max-drop", "30") == 1
    assert (
        check("worse", "--against", "main", "--metric", "val acc", "--max-drop", "1", "--set", "inconclusive=pass") == 1
    )


def test_without_a_drop_only_a_shown_one_fails(project):
    done = run("same", "--against", "main", "--metric", "val acc", "--metric", "val loss")
    assert done.return_value == 0
    assert done.stdout.splitlines()[0] == "PASS  2 of 2 metrics"
    full = run("same", "--against", "main", "--metric", "val acc", "--metric", "val loss", "-v").stdout
    assert full.count("no drop shown") == 2
    assert "would be shown by 4 of 5 such checks" in " ".join(full.split())


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
    assert "2 of 10 runs that are checked gave no finite value, against 0 of 8" in why(gate)[-1]
    assert not deviate.check("lost", "main", {"val acc": 30.0}, inconclusive="pass").passed
    assert deviate.check("same", "lost", {"val acc": 30.0}).passed


def test_values_that_are_not_finite_never_pass_where_the_other_side_has_fewer():
    a = side("new", [side_metric("m", SAME["val acc"][:4], excluded=4)], completed=8, ended=8)
    b = side("old", [side_metric("m", BASE["val acc"])])
    asked = GateOptions(drops={"m": Drop(1.0)}, inconclusive="pass")
    gate = check_side(a, b, asked, "")
    assert (gate.passed, gate.metrics[0].outcome) == (False, "runs lost")
    assert "whatever `inconclusive` says" in why(gate)[-1]
    first, second, *_ = terminal(gate).splitlines()
    assert first == "FAIL  new against old, m"
    assert " ".join(second.split()).startswith("4 of 8 new runs failed or collapsed (0 of 8 before): ")
    (suite,) = ElementTree.fromstring(gate_junit(gate).encode())
    assert suite.find("testcase/failure").get("type") == "runs-lost"
    as_many = side("old", [side_metric("m", BASE["val acc"][:4], excluded=4)], completed=8, ended=8)
    gate = check_side(a, as_many, asked, "")
    assert (gate.passed, gate.metrics[0].outcome) == (True, "inconclusive")


FRACTIONS = [value / 100 for value in BASE["val acc"]]


def test_fractions_against_percent_are_refused(project):
    a, b = side("new", [side_metric("acc", SAME["val acc"])]), side("old", [side_metric("acc", FRACTIONS)])
    for one, other in ((a, b), (b, a)):
        with pytest.raises(BadOption, match=r"like a fraction in old .* and like percent in new") as refused:
            check_side(one, other, GateOptions(drops={"acc": Drop(0.5)}), "")
        assert "into the unit of the other" in refused.value.hint
    loss = [side("x", [side_metric("acc", values, kind="loss")]) for values in (FRACTIONS, BASE["val acc"])]
    assert check_side(*loss, GateOptions(drops={"acc": Drop(0.5)}), "").metrics[0].outcome == "worse"


def test_a_limit_that_lets_anything_pass_is_pointed_out_in_every_format():
    b = side("old", [side_metric("acc", FRACTIONS)])
    fallen = side("new", [side_metric("acc", [value - 0.37 for value in FRACTIONS])])
    gate = check_side(fallen, b, GateOptions(drops={"acc": Drop(0.5)}), "")
    said = " ".join(terminal(gate).split())
    assert f"! acc: the limit 0.5 is {50 / np.mean(FRACTIONS):.0f}% of the mean of old (0.89" in said
    assert "would pass; if points of a percentage are meant, type --max-drop 0.005." in said
    assert json.loads(gate_json(gate))["warnings"][0]["slug"] == "limit-wide"
    (out,) = ElementTree.fromstring(gate_junit(gate).encode()).findall("testsuite/system-out")
    assert out.text.startswith("warning: acc: the limit 0.5 is ")

    def told(drop, direction="higher"):
        found = check_side(
            b, fallen, GateOptions(drops={"acc": drop}, samples=SampleOptions(directions={"acc": direction})), ""
        )
        return [caveat.message for caveat in gate_caveats(found) if caveat.slug == "limit-wide"]

    sds = 0.103 / np.std(FRACTIONS, ddof=1)
    assert told(Drop(0.103))[0].startswith(f"acc: the limit 0.103 is {sds:.0f} SDs of new (")
    assert "more than a fifth of the mean of new: a rise to" in told(Drop(0.25, True), "lower")[0]
    assert told(Drop(0.02)) == told(Drop(0.02, True)) == told(Drop()) == []


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_a_drop_is_how_much_worse_the_mean_is_whichever_values_are_better(direction):
    a, b = (side(label, [side_metric("m", BASE["val acc"], direction=direction)]) for label in ("new", "old"))
    within = why(check_side(a, b, GateOptions(drops={"m": Drop(3.0)}), ""))[1]
    word = "Drop" if direction == "higher" else "Rise"
    assert within.startswith(f"{word} 0 [")
    assert within.endswith("], allowed 3.0, 8 runs of each.")
    worse = [value + (-4 if direction == "higher" else 4) for value in BASE["val acc"]]
    a = side("new", [side_metric("m", worse, direction=direction)])
    beyond = why(check_side(a, b, GateOptions(drops={"m": Drop(3.0)}), ""))[1]
    assert beyond.startswith(f"{word} 4.0 [")
    assert beyond.endswith("], allowed 3.0, 8 runs of each.")


def test_a_p_near_alpha_is_not_written_as_alpha():
    texts = [Numbers(0.05).compared_p(p) for p in (0.0504, 0.04996, 0.05, 0.0512)]
    assert texts == ["= 0.0504", "= 0.04996", "= 0.050", "= 0.051"]
    assert Numbers(0.01).compared_p(0.01004) == "= 0.01004"


def test_bit_identical_partners_pass(project):
    gate = deviate.check("copy", "one", {"val acc": 0.1, "val loss": 0})
    assert [metric.outcome for metric in gate.metrics] == ["not worse", "no drop shown"]
    assert why(gate)[-1] == "No drop: each run has exactly the value of its partner."


def test_one_value_in_all_runs_of_both_passes(project):
    for name in ("flat", "even"):
        write_experiment(project, name, {"acc": [70.0] * 6})
    gate = deviate.check("flat", "even", {"acc": 0.1})
    assert [metric.outcome for metric in gate.metrics] == ["not worse"]
    assert gate.metrics[0].runs_needed is None
    assert why(gate)[-1] == "No drop: each run has exactly the value of all others."


def test_false_alarms_are_adjusted_and_passes_are_not(project):
    drops = {"val acc": 3.0, "val loss": 0.05}
    both, one = deviate.check("same", "main", drops), deviate.check("same", "main", {"val acc": 3.0})
    assert both.metrics[0].p_not_worse == one.metrics[0].p_not_worse
    worse = deviate.check("worse", "main", drops).metrics[0]
    assert worse.p_worse_adjusted == pytest.approx(2 * worse.p_worse)


def test_junit_holds_a_case_a_metric(project):
    words = ("--metric", "val acc", "--max-drop", "1", "--metric", "val loss", "--max-drop", "1%")
    done = run("worse", "--against", "main", *words, "--set", "inconclusive=pass", "-o", "gate.xml")
    assert done.return_value == 1
    assert "written to gate.xml" in done.stderr
    root = ElementTree.parse(project / "gate.xml").getroot()
    (suite,) = root
    assert (root.tag, suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("testsuites", "2", "1", "1")
    acc, loss = suite.findall("testcase")
    assert acc.find("failure").get("message") == "val acc: worse"
    word, drop = acc.find("failure").text.splitlines()
    assert word == "FAIL  worse against main, val acc"
    assert drop.startswith("drop ")
    assert "::error" not in done.stderr
    assert loss.find("skipped") is not None
    assert not list(project.glob(".gate.xml*"))


def test_on_github_what_does_not_pass_stands_beside_the_change(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    words = ("--against", "main", "--metric", "val acc", "--metric", "val loss", "--max-drop", "1", "--max-drop", "1")
    done = run("worse", *words)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert line.startswith("::error title=FAIL worse against main, val acc::drop ")
    assert "::" not in run("same", *words[:4], "--max-drop", "3").stderr
    assert json.loads(run("worse", *words, "--json").stdout)["passed"] is False


def hostile_gate():
    name = 'a<b & "c" ]]> \x1b[31m\x00\ufffe\ud800'
    metric = side_metric(name, SAME["val acc"])
    other = side_metric(name, BASE["val acc"])
    return name, check_side(
        side("new", [metric]), side("old", [other]), GateOptions(drops={name: Drop(0.1)}), "deviate"
    )


def test_hostile_names_make_valid_documents():
    _, gate = hostile_gate()
    (case,) = ElementTree.fromstring(gate_junit(gate).encode()).iter("testcase")
    assert case.get("name").startswith('a<b & "c" ]]>')
    assert json.loads(gate_json(gate).encode())["metrics"][0]["name"].startswith("a<b")
    assert "\x1b" not in terminal(gate, 80)


def test_the_terminal_is_not_left(project):
    text = terminal(deviate.check("same", "main", {"val acc": 0.1}).facts, 60)
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
        (("same", "--against", "main", "--metric", "val acc", "--max-drop", "1", "--max-drop", "2"), "found 2 for 1"),
        (("same", "--against", "main", "--max-drop", "1"), "--max-drop '1' names no metric"),
        (("same", "--against", "main", "--metric", "val acc", "--metric", "val acc"), "named twice"),
        (("same", "--against", "main", "--metric", "val acc", "--set", "alpha=0.5"), "alpha must be above 0"),
        (
            ("same", "--against", "main", "--metric", "val acc", "--set", "direction=val acc=up"),
            "Invalid enum value 'up'",
        ),
        (("same", "--against", "main", "--metric", "val acc", "-o", "no/such.xml"), "cannot write no/such.xml"),
        (("same", "--against", "main", "--metric", "val acc", "--set", "match=x"), "is not match=NAME=VALUE"),
    ],
)
def test_bad_questions_are_refused(project, words, said):
    done = run(*words)
    assert done.exception.exit_status == 2
    assert said in done.exception.message


def test_a_metric_without_a_direction_is_refused_until_it_has_one():
    a, b = (side(label, [side_metric("m", BASE["val acc"], direction=None)]) for label in ("new", "old"))
    with pytest.raises(BadOption, match="higher or lower values of 'm'"):
        check_side(a, b, GateOptions(drops={"m": Drop(1.0)}), "")
    assert check_side(
        a, b, GateOptions(drops={"m": Drop(5.0)}, samples=SampleOptions(directions={"m": "lower"})), ""
    ).passed


def test_a_share_of_values_around_zero_is_refused():
    a, b = (side(label, [side_metric("m", [-1.0, 0.5, 1.0, 2.0, 3.0])]) for label in ("new", "old"))
    with pytest.raises(BadOption, match="not all on one side of zero"):
        check_side(a, b, GateOptions(drops={"m": Drop(0.02, True)}), "")


def test_a_pass_of_a_noisier_side_is_qualified():
    a = side("new", [side_metric("m", 90 + 4 * (np.array(SAME["val acc"]) - 90))])
    b = side("old", [side_metric("m", BASE["val acc"])])
    gate = check_side(a, b, GateOptions(drops={"m": Drop(30.0)}), "")
    assert "times that of the baseline" in why(gate)[-1]


def test_names_and_order_of_drops():
    assert parse_drops(["a", "b"], ["1", "2%"]) == {"a": Drop(1.0), "b": Drop(0.02, True)}
    assert parse_drops(["a", "b"], ["b=2", "1"]) == {"a": Drop(1.0), "b": Drop(2.0)}
    assert parse_drops([], ["x=y=0.5"]) == {"x=y": Drop(0.5)}
    for metrics, texts in (([], ["1"]), (["a"], ["=1"]), (["a"], ["a=1", "a=2"]), (["a"], ["a=nan"])):
        with pytest.raises(BadOption):
            parse_drops(metrics, texts)


@pytest.mark.parametrize("writer", writers(json=gate_json).values(), ids=lambda writer: writer.name)
def test_every_format_says_whether_a_side_passes_and_escapes_names(project, writer):
    file = f"gate{writer.suffixes[0]}"
    done = run("worse", "--against", "main", "--metric", "val acc", "--max-drop", "1", "-o", file)
    assert (done.return_value, done.stdout) == (1, "")
    text = (project / file).read_text()
    assert "worse" in text
    if writer.name == "json":
        return
    assert writer.name == "terminal" or "0.00" in text
    _, gate = hostile_gate()
    assert "\x1b" not in writer.render(gate_page(gate, writer.reader))


def test_junit_and_other_formats_go_to_files_by_their_names(project):
    words = ("same", "--against", "main", "--metric", "val acc", "--max-drop", "3")
    for name, start in (("out.xml", "<?xml"), ("out.md", "# same against main"), ("out.json", "{"), ("out.tex", "%")):
        assert check(*words, "-o", name) == 0
        assert (project / name).read_text().startswith(start)


@pytest.mark.parametrize("name", ["md", "tex", "html"])
def test_a_p_just_below_alpha_is_written_with_the_digits_that_tell_it_from_alpha(name):
    a, b = side("new", [side_metric("m", SAME["val acc"])]), side("old", [side_metric("m", BASE["val acc"])])
    gate = check_side(a, b, GateOptions(drops={"m": Drop(3.0)}, alpha=0.01))
    metric = structs.replace(gate.metrics[0], p_not_worse=0.00999, p_worse_adjusted=0.00999)
    writer = writers()[name]
    text = writer.render(gate_page(structs.replace(gate, metrics=[metric]), writer.reader)).partition("<main")
    assert (text[2] or text[0]).count("0.00999") >= 2


def test_weak_runs_are_left_out_and_let_nothing_pass(project):
    bar = f"val acc<{sorted(SAME['val acc'])[1]}"
    gate = deviate.check("same", "main", {"val acc": 30.0}, weak=[bar])
    assert (gate.passed, gate.metrics[0].outcome, gate.metrics[0].lost_a) == (False, "inconclusive", 1)
    assert "1 of 8 runs that are checked gave no finite value or were left out as weak" in why(gate)[-1]
    assert any(caveat.slug == "weak-runs" for caveat in gate_caveats(gate.facts))
    done = run("same", "--against", "main", "--metric", "val acc", "--max-drop", "30", "--set", f"weak={bar}")
    assert done.return_value == 1
    assert "left out, as requested" in " ".join(done.stdout.split())


def gate_of(values, excluded=0, failed=0, **options):
    """A gate on sides of these values of one metric, the second twenty usual runs."""
    checked = side("new", [side_metric("val acc", values, excluded=excluded)], ended=len(values) + excluded + failed)
    return check_side(
        checked,
        side("old", [side_metric("val acc", 97 + 0.3 * RNG.standard_normal(20))]),
        GateOptions(drops={"val acc": Drop(1.0)}, **options),
    )


def test_a_gate_says_which_rate_of_failures_its_runs_can_see():
    gate = gate_of(97 + 0.3 * RNG.standard_normal(29))
    assert gate.passed
    assert (gate.failures.failed, gate.failures.runs) == (0, 29)
    assert gate.failures.seen == pytest.approx(1 - 0.05 ** (1 / 29))
    shown = " ".join(terminal(gate, 200).split())
    assert "None of 29 runs of new failed, gave no value or collapsed: the rate is at most 9.8%" in shown
    assert "29 runs show a rate of 9.8% or more at least once in 95% of checks" in shown


@pytest.mark.parametrize(("allowed", "passed"), [(0.05, False), (0.25, True), (None, True)])
def test_a_rate_of_failures_that_is_not_shown_to_be_kept_does_not_pass(allowed, passed):
    values = [*(97 + 0.3 * RNG.standard_normal(29)), 10.0]
    gate = gate_of(values, max_failures=allowed, inconclusive="pass")
    assert gate.failures.failed == 1
    assert gate.failures.upper == pytest.approx(stats.beta.ppf(0.95, 2, 29))
    assert gate.failures.passed is passed
    said = [line for line in terminal(gate).splitlines() if " of 30 new runs failed: at most " in line]
    assert [line.split()[0] for line in said] == ([] if allowed is None else ["PASS" if passed else "FAIL"])
    assert json.loads(gate_json(gate))["failures"]["passed"] is passed


def test_with_a_rate_that_is_allowed_lost_runs_keep_no_metric_from_passing():
    values = 97 + 0.3 * RNG.standard_normal(29)
    assert gate_of(values, excluded=1).metrics[0].outcome == "runs lost"
    allowed = gate_of(values, excluded=1, max_failures=0.2)
    assert (allowed.metrics[0].outcome, allowed.failures.failed, allowed.passed) == ("not worse", 1, True)


@pytest.mark.parametrize("text", ["much", "0", "100%", "-3%"])
def test_a_share_that_is_none_is_refused(project, text):
    refused = run("same", "--against", "main", "--metric", "val acc", "--max-failures", text)
    assert isinstance(refused.exception, BadOption)
    assert "--max-failures" in str(refused.exception)


def test_a_share_is_typed_in_percent_or_as_a_fraction(project):
    words = ("same", "--against", "main", "--metric", "val acc", "--max-drop", "3", "--json", "--max-failures")
    percent, fraction = (json.loads(run(*words, text).stdout)["failures"] for text in ("40%", "0.4"))
    assert percent == fraction
    assert (percent["allowed"], percent["passed"]) == (0.4, True)
