"""``deviate compare`` and ``deviate plan`` on experiments in a workspace, and from Python."""

import json
import shlex
from inspect import signature

import numpy as np
import pytest
from click.testing import CliRunner
from compared_sides import write_experiment
from scipy import stats

import deviate
from deviate.cli.main import group
from deviate.core.errors import BadOption, UnknownExperiment
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.plan import PlanOptions, make_plan
from deviate.facts.samples import SampleOptions
from deviate.report.page import Sentences
from deviate.report.topics.comparison_caveats import comparison_caveats
from deviate.report.topics.plan import answer_sentences, plan_notes
from deviate.report.writers.terminal import render_terminal
from deviate.stats.intervals import cautious_sd_interval

pytestmark = pytest.mark.long

RNG = np.random.default_rng(8)
BASE = {
    "train loss": (0.3 + 0.01 * RNG.standard_normal(8)).tolist(),
    "test acc": (90 + RNG.standard_normal(8)).tolist(),
}
BETTER = {"train loss": [x - 0.05 for x in BASE["train loss"]], "test acc": (95 + RNG.standard_normal(8)).tolist()}


@pytest.fixture
def project(tmp_path, monkeypatch):
    drawn = [f"{k:08x}" for k in range(10)]
    write_experiment(tmp_path, "baseline", BASE)
    write_experiment(tmp_path, "proposed", BETTER, failed=2)
    write_experiment(tmp_path, "best", BASE, aggregate="best")
    write_experiment(tmp_path, "few", {name: values[:3] for name, values in BETTER.items()})
    write_experiment(tmp_path, "two", BASE, variant="control", drawn=drawn)
    write_experiment(tmp_path, "two", BASE, variant="algo+impl", drawn=drawn)
    write_experiment(tmp_path, "arms", BETTER, variant="algo", drawn=drawn)
    write_experiment(tmp_path, "arms", BASE, variant="impl")
    write_experiment(tmp_path, "a:b", BASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(group, list(words))


def test_json_on_standard_output_and_nothing_else(project):
    done = run("compare", "baseline", "proposed", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    metric = next(one for one in found["metrics"] if one["name_a"] == "test acc")
    assert metric["verdict"] == "b better"
    welch = stats.ttest_ind(BASE["test acc"], BETTER["test acc"], equal_var=False)
    assert metric["tests"]["welch_t"]["p"] == pytest.approx(welch.pvalue)
    assert any(warned["slug"] == "runs-lost" for warned in found["warnings"])


def test_a_second_value_of_an_option_is_refused_and_several_of_a_repeatable_one_are_taken(project):
    done = run("compare", "baseline", "proposed", "--pairing", "on", "--pairing", "off")
    assert done.exit_code == 2
    assert "--pairing is typed 2 times and has one value" in done.output
    several = run("compare", "baseline", "proposed", "--metric", "test acc", "--metric", "train loss", "-v", "-v")
    assert several.exit_code == 0
    assert all(f"baseline → proposed, {name}\n" in several.output for name in ("test acc", "train loss"))


def test_several_levels_are_columns_and_one_of_them_decides(project):
    words = ("compare", "baseline", "proposed", "--metric", "test acc", "--level")
    found = json.loads(run(*words, "0.99", "--level", "0.9", "--level", "0.95", "--json").stdout)
    (metric,) = found["metrics"]
    assert found["alpha"] == 0.05
    assert [each["level"] for each in metric["ci_levels"]] == [0.99, 0.9, 0.95]
    assert metric["ci_levels"][2]["interval"] == metric["ci_difference"]
    again = json.loads(run(*found["command"].split()[1:4], "--metric", "test acc", "--level", "0.9", "--level", "0.99",
                           "--json").stdout)  # fmt: skip
    assert again["alpha"] == 0.01
    assert "--level 0.99 --level 0.9 --level 0.95" in found["command"]
    assert json.loads(run(*words, "0.9", "--json").stdout)["metrics"][0]["ci_levels"] == []


def test_python_says_the_same(project):
    found = deviate.compare(deviate.load("baseline"), "proposed", alpha=0.01)
    assert (found.pairs[0].metrics[1].verdict, found.pairs[0].metrics[1].survivors) == ("differs", True)
    assert found.alpha == 0.01


def test_fingerprints_in_the_files_pair_runs(project):
    found = deviate.compare("two", "arms:algo")
    assert found.pairs[0].pairing.shared == ["shuffle"]
    assert found.pairs[0].metrics[0].contrast.paired
    assert not deviate.compare("two", "arms:algo", pairing="off").pairs[0].metrics[0].contrast.paired


def test_variants_are_named_or_assumed(project):
    found = deviate.compare("two", "two:control")
    assert (found.pairs[0].variant_a, found.pairs[0].variant_b) == ("algo+impl", "control")
    assert any(warned.slug == "variant-assumed" for warned in comparison_caveats(found.comparability))
    assert deviate.compare("a:b", "baseline").pairs[0].variant_a == "algo+impl"
    with pytest.raises(BadOption, match="has 2 variants: algo, impl") as raised:
        deviate.compare("arms", "baseline")
    assert "arms:algo" in raised.value.hint
    with pytest.raises(BadOption, match="no variant 'init'"):
        deviate.compare("baseline:init", "proposed")


def test_metrics_that_are_tasks_are_compared_over_all_of_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(1).standard_normal((2, 2, 6)).round(2).tolist()
    for name, (walk, run_) in zip(("old", "new"), values, strict=True):
        write_experiment(tmp_path, name, {"walk loss": walk, "run loss": run_})
    done = run("compare", "old", "new", "--set", "tasks=true", "--json")
    found = json.loads(done.stdout)["tasks"]
    assert (sorted(found["tasks"]), found["direction"]) == (["run loss", "walk loss"], "lower")
    assert found["iqm_b"] == pytest.approx(stats.trim_mean(np.ravel(values[1]), 0.25))
    lower = [stats.mannwhitneyu(old, new).statistic / 36 for old, new in zip(*values, strict=True)]
    assert found["improvement"] == pytest.approx(np.mean(lower))
    assert found["ci_difference"][0] < found["difference"] < found["ci_difference"][1]
    said = " ".join(run("compare", "old", "new", "--set", "tasks=true").stdout.split())
    assert "Over 2 tasks the interquartile mean of old is" in said
    assert "A run of new is better than one of old with probability" in said
    assert (found["enough"], found["gap_a"]) == (None, None)
    assert found["profile"][0]["a"] == np.mean(np.ravel(values[0]) > np.min(values))


def test_three_sides_are_ranked_over_tasks_and_fall_short_of_what_is_enough(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    tasks = [f"task {number} acc" for number in range(6)]
    values = {
        name: (rng.normal(shift, 0.1, (6, 4))).round(2).tolist() for name, shift in (("a", 0), ("b", 1), ("c", 2))
    }
    for name, runs in values.items():
        write_experiment(tmp_path, name, dict(zip(tasks, runs, strict=True)))
    done = run("compare", *values, "--set", "tasks=true", "--json")
    found = json.loads(done.stdout)
    assert found["ranked"]["ranks"] == [3, 2, 1]
    assert found["ranked"]["p"] == pytest.approx(stats.chi2.sf(12, 2))
    assert found["pairs"][0]["tasks"]["signed_rank"]["b"] > 0.99
    short = found["pairs"][0]["tasks"]
    assert short["gap_a"] == pytest.approx(1 - np.minimum(np.ravel(values["a"]), 1).mean())
    said = " ".join(run("compare", *values, "--set", "tasks=true", "-v").stdout.split())
    assert (
        "Mean ranks over 6 tasks, 1 the best: a 3.00, b 2.00 and c 1.00. Friedman's test: χ² 12.00, p 0.0025." in said
    )
    assert "By Nemenyi's test a and c (p 0.0015) rank differently." in said
    assert "The mean shortfall from 1 (optimality gap) of a is" in said
    assert "Share of the runs of all tasks above a value, a and b" in said


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (["baseline", "nothing"], UnknownExperiment, "nothing"),
        (["baseline"], BadOption, "two experiments"),
        (["baseline", "baseline"], BadOption, "same runs"),
        (["baseline", "baseline:algo+impl"], BadOption, "same runs"),
        (["baseline", "best"], BadOption, "aggregated differently"),
        (["baseline", "proposed", "--set", "aggregate=x=last"], BadOption, "no metric 'x'"),
        (["baseline", "proposed", "--set", "aggregate=test acc=worst"], BadOption, "no aggregate"),
        (["baseline", "proposed", "--margin", "test acc=-1"], BadOption, "above 0"),
        (["baseline", "proposed", "--margin", "test acc=x"], BadOption, "no number"),
        (["baseline", "proposed", "--margin", "test acc"], BadOption, "NAME=VALUE"),
        (["baseline", "proposed", "--set", "direction=x=higher"], BadOption, "no metric 'x'"),
        (["baseline", "proposed", "--set", "direction=test acc=up"], BadOption, "Invalid enum value 'up'"),
        (["baseline", "proposed", "--set", "correction=sidak"], BadOption, "sidak"),
        (["baseline", "proposed", "--set", "tasks=true"], BadOption, "or lower ones in all"),
        (["baseline", "proposed", "--level", "95"], BadOption, "--level"),
        (["baseline", "proposed", "--set", "alpha=0"], BadOption, "--set alpha"),
        (["baseline", "proposed", "--set", "alpha=0.1", "--level", "0.95"], BadOption, "belong together"),
        (["baseline", "proposed", "--json", "--format", "md"], BadOption, "different things"),
        (["baseline", "proposed", "--format", "docx"], BadOption, "docx"),
        (["baseline", "proposed", "-o", "x.docx"], BadOption, "x.docx"),
    ],
)
def test_bad_input_is_refused(project, words, error, said):
    done = run("compare", *words)
    assert isinstance(done.exception, error), done.exception
    assert done.exception.exit_status == 2
    assert said in done.exception.message
    assert done.exception.hint
    assert done.stdout == ""


def test_one_name_is_answered_with_the_experiments_there_are(project):
    hint = run("compare", "baseline").exception.hint
    assert hint.startswith("type: deviate compare baseline B; experiments here: a:b, arms, ")


def test_metrics_are_named_in_either_case(project):
    usual = ["--metric", "test acc", "--margin", "test acc=9", "--set", "match=test acc=test acc"]
    other = ["--metric", "Test Acc", "--margin", "TEST ACC=9", "--set", "match=Test acc=test Acc"]
    chosen = ["--set", "direction=test acc=lower", "--set", "aggregate=test acc=max"]
    found, same = (
        json.loads(run("compare", "baseline", "proposed", "--json", *words).stdout)
        for words in ([*usual, *chosen], [*other, *(word.replace("test acc", "Test Acc") for word in chosen)])
    )
    assert found.pop("command") != same.pop("command")
    assert found == same
    assert [metric["aggregate"] for metric in found["metrics"]] == ["max"]


def test_a_gate_takes_metrics_in_either_case_once(project):
    found = deviate.check("proposed", "baseline", {"Test Acc": 0.5}, aggregates={"TEST acc": "max"})
    assert [(metric.name, metric.aggregate) for metric in found.metrics] == [("test acc", "max")]
    with pytest.raises(BadOption, match="named twice"):
        deviate.check("proposed", "baseline", {"Test Acc": 0.5, "test acc": 1})
    with pytest.raises(BadOption, match="no metric 'x'"):
        deviate.check("proposed", "baseline", {"test acc": 0.5}, aggregates={"x": "max"})


def test_a_wrong_keyword_is_an_error_with_the_right_one_and_all_are_in_the_signature(project):
    with pytest.raises(BadOption, match="takes no keyword 'metric'"):
        deviate.compare("baseline", "proposed", metric="test acc")
    assert (
        {*ComparisonOptions.__struct_fields__, *SampleOptions.__struct_fields__}
        - {"samples", "first_grows", "differences"}
    ) < set(signature(deviate.compare).parameters)
    one, several = (deviate.compare("baseline", "proposed", metrics=named) for named in ("test acc", ["test acc"]))
    assert [metric.name for metric in one.pairs[0].metrics] == ["test acc"]
    assert one.facts == several.facts
    with pytest.raises(BadOption, match="pairing"):
        deviate.compare("baseline", "proposed", pairing="yes")


def test_what_python_gives_prints_as_what_the_command_says(project):
    said = run("compare", "baseline", "proposed", "--metric", "test acc", "-o", "out.txt")
    assert said.exit_code == 0
    found = deviate.compare("baseline", "proposed", metrics="test acc")
    assert str(found) == repr(found) == (project / "out.txt").read_text().rstrip("\n")
    assert repr(found.pairs) == "[<'baseline' against 'proposed': <'test acc': b better>>]"
    assert repr(deviate.plan(difference=1.0)).splitlines() == run("plan", "--difference", "1", "-v").stdout.splitlines()
    assert len(repr(deviate.check("proposed", "baseline", {"test acc": 0.5}))) < 1000


def test_a_curve_is_of_the_variant_that_a_comparison_takes(project):
    two = deviate.load("two")
    table = two.curve("Test ACC").to_frame()
    assert list(table) == ["iterations", "n", "low", "median", "high"]
    assert table["median"].tolist() == [np.median(BASE["test acc"])]
    assert table["n"].tolist() == [8]
    assert two.parting("test acc", "control").iteration == 0
    with pytest.raises(BadOption, match="no variant 'init'") as raised:
        two.curve("test acc", "init")
    assert raised.value.hint == "type one of: control, algo+impl"
    with pytest.raises(BadOption, match="no metric 'acc'") as raised:
        two.curve("acc")
    assert raised.value.hint == "type one of: train loss, test acc"
    with pytest.raises(BadOption, match="of 2 variants: algo, impl") as raised:
        deviate.load("arms").curve("test acc")
    assert raised.value.hint == "name one: variant='algo'"


def test_samples_take_aggregates_in_either_case(project):
    table = deviate.load("baseline").samples({"Test Acc": "max"})
    assert set(table[table["metric"] == "test acc"]["aggregate"]) == {"max"}
    with pytest.raises(BadOption, match="no metric 'x'"):
        deviate.load("baseline").samples({"x": "max"})


def test_a_time_keeps_its_aggregate(project):
    baseline = deviate.load("baseline")
    table = baseline.samples({"Time per run": "last"})
    assert set(table[table["metric"] == "time per run"]["aggregate"]) == {"last"}
    expected = "the aggregate of 'time per iteration' must be median, found 'mean'"
    with pytest.raises(BadOption, match=expected):
        baseline.samples({"time per iteration": "mean"})
    for command in (("report", "baseline"), ("compare", "baseline", "proposed")):
        assert expected in str(run(*command, "--set", "aggregate=time per iteration=mean").exception)


def test_one_aggregate_for_both_makes_them_comparable(project):
    chosen = [word for name in BASE for word in ("--set", f"aggregate={name}=last")]
    found = json.loads(run("compare", "baseline", "best", "--json", *chosen).stdout)
    assert {metric["aggregate"] for metric in found["metrics"] if metric["kind"] == "quality"} == {"last"}


def test_level_is_one_minus_alpha(project):
    found = json.loads(run("compare", "baseline", "proposed", "--json", "--level", "0.99").stdout)
    assert found["alpha"] == 0.01
    assert json.loads(run("compare", "baseline", "proposed", "--json").stdout)["alpha"] == 0.05


@pytest.mark.parametrize("suffix", ["md", "csv", "json", "txt"])
def test_a_file_is_written_in_the_format_of_its_name(project, suffix):
    assert run("compare", "baseline", "proposed", "few", "-o", f"out.{suffix}").exit_code == 0
    assert "proposed" in (project / f"out.{suffix}").read_text()


def test_plan_from_a_pilot(project):
    found = deviate.plan("baseline", difference=0.8, sd_ratio=2.0, precision=0.5)
    assert found.pilot.metric == "test acc"
    assert found.sd == pytest.approx(np.std(BASE["test acc"], ddof=1))
    assert found.seconds == pytest.approx(2.035)
    difference, ratio, precision = found.answers
    assert difference.runs_cautious > difference.runs > 5
    assert difference.hours == pytest.approx(2 * difference.runs * found.seconds / 3600)
    assert 20 < ratio.runs < 30
    assert precision.sides == 1


def test_a_plan_says_how_many_runs_are_safe_and_why_behind_it(project):
    asked, ratio, nothing = (
        deviate.plan("baseline", **question) for question in ({"difference": 0.8}, {"sd_ratio": 2.0}, {})
    )
    (answer,) = asked.answers
    assert "To be safe: 1.35 times the SD of the pilot" in " ".join(plan_notes(asked.facts))
    said, safe = answer_sentences(answer, asked)
    assert said.startswith(f"{answer.runs} runs of each recipe show a difference of 0.8 in test acc in 4 of 5 cases: ")
    assert said.endswith(", one at a time. You have 8.")
    sd = np.std(BASE["test acc"], ddof=1)
    assert safe == f"{answer.runs_cautious} to be safe: the SD of 8 runs ({sd:.2f}) may be too small."
    for plan in (ratio, nothing):
        assert "To be safe" not in " ".join(plan_notes(plan.facts))
    limits = cautious_sd_interval(BASE["test acc"])
    for plan in (asked, ratio, nothing):
        lines = [line for line in render_terminal(plan.page("screen"), 80).splitlines() if line]
        # An answer has the number of runs for the larger SD; how large is behind -v, and as a report has it.
        low, high = (end / sd for end in (limits.low, limits.high))
        wide = f"Its true SD may be {low:.2f} to {high:.2f} times as large (95% CI)"
        assert (wide in " ".join(lines)) == (not plan.answers)
        assert wide in " ".join(render_terminal(plan.page("full"), 80).split())
        assert len(lines) <= 20
    free = deviate.plan(sd=1.0)
    assert "true SD" not in render_terminal(free.page("screen"), 80)


def test_a_plan_says_why_its_number_is_not_that_of_textbooks(project):
    found = deviate.plan("baseline", difference=0.8, precision=0.5, tests=4)
    difference, precision = found.answers
    alone = deviate.plan(sd=found.sd, difference=0.8, precision=0.5)
    assert [each.textbook for each in found.answers] == [each.runs for each in alone.answers]
    assert difference.runs > difference.textbook
    # So many runs that their mean lies within the width of the true one, whatever the true SD is.
    assert precision.runs == int(np.ceil((stats.t.ppf(0.975, 7) * found.sd / 0.5) ** 2))
    why = "they take the SD of the pilot for the true one and make one test, not 4."
    assert f"Textbooks say {difference.textbook} runs: {why}" in plan_notes(found.facts)
    assert "Textbooks" not in render_terminal(found.page("screen"), 80)
    assert "Textbooks" not in " ".join(plan_notes(alone.facts))
    assert "up to 9 points lower" in " ".join(plan_notes(found.facts))
    assert "up to 15 points lower" in " ".join(plan_notes(deviate.plan("few", precision=0.5).facts))


def test_plan_without_a_pilot_is_in_sds():
    found = make_plan(PlanOptions(difference=1.0), None)
    assert (found.unit, found.sd) == ("SD", 1.0)
    assert found.answers[0].runs == 17
    rung = next(rung for rung in found.ladder if rung.runs == 8)
    assert rung.detectable_difference == pytest.approx(1.520, abs=1e-3)  # Student's t: 1.507
    assert rung.mean_half_width == pytest.approx(0.836, abs=1e-3)
    assert (found.seconds, rung.hours) == (None, None)


def test_plan_needs_at_least_what_a_verdict_needs():
    assert make_plan(PlanOptions(difference=10.0), None).answers[0].runs == 5


def test_a_plan_from_two_pilots_is_for_pairs_where_runs_are_paired(project):
    drawn = [f"{k:08x}" for k in range(8)]
    noise = RNG.standard_normal(8)
    for name, shift in (("left", 0.0), ("right", 0.3)):
        values = 90 + noise + shift + 0.2 * RNG.standard_normal(8)
        write_experiment(project, name, {"test acc": values.tolist()}, drawn=drawn)
    paired = deviate.plan("left", against="right", difference=0.5)
    assert (paired.paired, paired.pilot.pairs) == (True, 8)
    assert paired.sd_differences < paired.sd
    alone = deviate.plan("left", difference=0.5)
    assert paired.answers[0].runs < alone.answers[0].runs
    assert "the power is that of the paired t test" in " ".join(plan_notes(paired.facts))
    unpaired = deviate.plan("baseline", against="proposed", difference=0.5)
    pooled = np.sqrt((np.var(BASE["test acc"], ddof=1) + np.var(BETTER["test acc"], ddof=1)) / 2)
    assert not unpaired.paired
    assert unpaired.sd == pytest.approx(pooled)


def test_a_plan_makes_more_runs_where_some_fail(project):
    pilot = deviate.plan("proposed", difference=0.8)
    answer = pilot.answers[0]
    assert (pilot.pilot.failures.failed, pilot.pilot.failures.runs) == (2, 10)
    assert answer.made == -(-answer.runs // 0.8)
    assert answer.made_cautious > answer.made > answer.runs
    assert "2 of 10 runs of the pilot gave no value" in " ".join(plan_notes(pilot.facts))
    assert make_plan(PlanOptions(difference=1.0, failures=0.1), None).answers[0].made == 19
    assert "None of 8 runs of the pilot failed; up to 18% may" in " ".join(
        plan_notes(deviate.plan("baseline", difference=0.8).facts)
    )


def test_a_correlation_is_planned_for_pairs():
    plan = make_plan(PlanOptions(difference=1.0, correlation=0.5), None)
    assert plan.paired
    assert plan.sd_differences == pytest.approx(1.0)
    assert plan.answers[0].runs == 10


def test_a_pilot_of_few_runs_takes_more_runs(project):
    def runs(**options):
        return deviate.plan("baseline", difference=0.8, **options).answers[0].runs

    assert runs() > runs(sd=float(np.std(BASE["test acc"], ddof=1)))


def test_correcting_for_tests_takes_more_runs():
    one, ten = (make_plan(PlanOptions(difference=1.0, tests=tests), None).answers[0].runs for tests in (1, 10))
    assert ten > one


def test_plan_command(project):
    assert json.loads(run("plan", "baseline", "--difference", "1", "--json").stdout)["answers"][0]["runs"] > 5
    text = " ".join(run("plan", "--set", "sd=0.5", "--difference", "0.5", "--set", "seconds=3600").stdout.split())
    said = "17 runs of each recipe show a difference of 0.5 in 4 of 5 cases: 34.0 h for both recipes, one at a time."
    assert text.startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "nothing"),
        (["--metric", "x"], "needs a pilot"),
        (["baseline", "--metric", "x"], "no metric 'x'"),
        (["--difference", "0"], "--difference"),
        (["--set", "sd=-1"], "--set sd"),
        (["--set", "sd_ratio=1"], "sd_ratio"),
        (["--set", "power=0.01"], "alpha below power"),
        (["-n", "1"], "--runs"),
        (["--set", "tests=0"], "tests"),
        (["--set", "tests=1" + 400 * "0"], "tests"),
        (["--set", "sd=1e308", "--difference", "1e-308"], "--set sd"),
        (["--set", "sd=1", "--runs", "1000000000"], "--runs"),
        (["--set", "seconds=1e308"], "seconds"),
        (["--set", "alpha=1e-300"], "alpha"),
        (["--set", "correlation=1"], "correlation"),
        (["--set", "failures=1"], "failures"),
        (["--against", "baseline"], "needs a pilot"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(project, words, said):
    done = run("plan", *words)
    assert isinstance(done.exception, deviate.DeviateError)
    assert done.exception.exit_status == 2
    assert said in done.exception.message


@pytest.mark.parametrize("name", ["plan.txt", "plan.md", "plan.tex", "plan.html", "plan.json"])
def test_a_plan_is_in_every_format(project, name):
    done = run("plan", "baseline", "--difference", "1", "-o", name)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "difference of 1" in (project / name).read_text()


def test_a_plan_without_a_pilot_is_a_page_too(project):
    assert run("plan", "--difference", "1", "-o", "plan.md").exit_code == 0
    assert (project / "plan.md").read_text().startswith("# How many runs to make")


def test_records_become_samples_as_in_a_report(project):
    worst = sorted(BASE["test acc"])[0]
    weak = ["--set", f"weak=test acc<={worst}"]
    found = json.loads(run("compare", "baseline", "proposed", "--json", *weak).stdout)
    metric = next(one for one in found["metrics"] if one["name_a"] == "test acc")
    assert (metric["n_a"], metric["weak_a"]["values"]) == (7, BASE["test acc"])
    assert {caveat["slug"] for caveat in found["warnings"]} >= {"weak-runs"}
    assert "--set 'weak=" in found["command"]
    plan = json.loads(run("plan", "baseline", "--json", *weak, "--set", "test_size=test acc=1000").stdout)
    assert plan["pilot"]["n"] == 7
    assert "1 weak run of the pilot left out" in " ".join(plan["notes"])
    assert "one of 1000 test examples" in " ".join(plan["notes"])

    reached = json.loads(run("compare", "baseline", "proposed", "--json", "--set", "reach=test acc>=50").stdout)
    assert "iterations to test acc>=50" in {one["name_a"] for one in reached["metrics"]}
    sized = run("compare", "baseline", "proposed", "--set", "test_size=test acc=10000").stdout
    assert "one of 10000 test examples is worth 0.01" in " ".join(sized.split())
    for words in (["--set", "weak=x<1"], ["--set", "reach=x>=1"], ["--set", "test_size=x=10"]):
        assert "no metric 'x'" in run("compare", "baseline", "proposed", *words).exception.message


def test_a_paper_says_how_the_compared_runs_were_made(project):
    view = deviate.compare("baseline", "proposed", reach=["test acc>=1"])
    said = {block.about: block.sentences for section in view.page("paper").sections for block in section.blocks
            if isinstance(block, Sentences)}  # fmt: skip
    assert "All runs completed." in said["Runs of baseline."]
    assert any(" 2 failed." in sentence for sentence in said["Runs of proposed."])
    assert any("python train.py" in sentence for each in said.values() for sentence in each)


#: Nothing in its name says which values are better.
SCORES = {"zeta": [0.1, 0.2, 0.15, 0.12, 0.18, 0.16]}, {"zeta": [1.1, 1.2, 1.15, 1.12, 1.18, 1.16]}


def test_a_direction_is_said_once_for_all_experiments_of_the_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, values in zip("ab", SCORES, strict=True):
        write_experiment(tmp_path, name, values, directed=False)

    def verdict(*words):
        done = run("compare", "a", "b", "--json", *words)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)["metrics"][0]["verdict"]

    def highest(name):
        done = run("report", name, "--set", "aggregate=zeta=best", "--json")
        (metric,) = (each for each in json.loads(done.stdout)["variants"][0]["metrics"] if each["name"] == "zeta")
        return metric["direction"], metric["n"]

    assert (verdict(), highest("a")) == ("differs", (None, 0))
    # A command that is refused leaves nothing.
    assert run("compare", "a", "b", "--set", "direction=zeta=lower", "--margin", "none=1").exception
    assert verdict() == "differs"
    assert verdict("--set", "direction=Zeta=lower") == "a better"
    # Typed once, and every command knows.
    assert (verdict(), highest("a")) == ("a better", ("lower", 6))
    assert not deviate.check("b", "a", {"zeta": 0}).passed
    # What the file says goes before it, whatever wrote the runs, and what is typed before both.
    (tmp_path / "deviate.toml").write_text('[direction]\nZETA = "higher"\n')
    assert (verdict(), highest("b")) == ("b better", ("higher", 6))
    assert (verdict("--set", "direction=zeta=lower"), verdict()) == ("a better", "b better")
    (tmp_path / "deviate.toml").write_text('[[observed]]\nname = "zeta"\ndirection = "higher"\n')
    assert verdict() == "b better"
    (tmp_path / "deviate.toml").write_text('[direction]\nzeta = "up"\n')
    refused = run("report", "a").exception
    assert refused.slug == "bad-config"
    assert "deviate.toml:1: direction: " in refused.message
    assert "higher, lower" in refused.hint


def test_a_direction_that_report_or_an_import_is_given_holds_for_the_next_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_experiment(tmp_path, "a", SCORES[0], directed=False)
    write_experiment(tmp_path, "b", SCORES[1], directed=False)
    assert run("report", "a", "--set", "direction=zeta=higher").exit_code == 0
    assert deviate.compare("a", "b").pairs[0].metrics[0].verdict == "b better"
    (tmp_path / "c.csv").write_text("seed,zeta\n" + "".join(f"{k},{v}\n" for k, v in enumerate(SCORES[1]["zeta"])))
    assert run("import", "c.csv", "--name", "c", "--set", "direction=zeta=lower").exit_code == 0
    assert deviate.compare("a", "c").pairs[0].metrics[0].verdict == "a better"
    assert deviate.compare("a", "b").pairs[0].metrics[0].verdict == "a better"


def test_what_the_file_says_of_statistics_holds_in_all_commands_until_it_is_typed(project):
    worst = sorted(BASE["test acc"])[0]
    said = f'aggregate = {{ "test acc" = "max", zeta = "best" }}\nweak = ["test acc<={worst}"]\nalpha = 0.01\n'
    (project / "deviate.toml").write_text(f"[statistics]\n{said}power = 0.9\n")
    report = json.loads(run("report", "baseline", "--json").stdout)["variants"][0]["metrics"]
    assert [(each["n"], each["aggregate"]) for each in report if each["name"] == "test acc"] == [(7, "max")]
    typed = json.loads(run("report", "baseline", "--json", "--set", "aggregate=test acc=last").stdout)["variants"][0]
    assert [each["aggregate"] for each in typed["metrics"] if each["name"] == "test acc"] == ["last"]
    compared = json.loads(run("compare", "baseline", "proposed", "--json").stdout)
    assert (compared["alpha"], "--set alpha=0.01" in compared["command"]) == (0.01, True)
    assert json.loads(run("compare", "baseline", "proposed", "--json", "--level", "0.9").stdout)["alpha"] == 0.1
    assert deviate.compare("baseline", "proposed", alpha=0.2).facts.alpha == 0.2
    planned = json.loads(run("plan", "baseline", "--difference", "1", "--json").stdout)
    assert (planned["pilot"]["n"], planned["alpha"], planned["power"]) == (7, 0.01, 0.9)
    assert deviate.load("baseline").report(curves=False).facts.variants[0].metrics[0].n == 7


def test_what_is_claimed_is_at_hand(project):
    found = deviate.compare("baseline", "proposed", metrics=["test acc"])
    (metric,) = found.pairs[0].metrics
    assert found["TEST ACC"] is found.main is metric
    assert found.difference == metric.b.spread.mean - metric.a.spread.mean
    assert found.interval[0] < found.difference < found.interval[1]
    assert (found.verdict, found.p) == (metric.verdict, metric.p_adjusted)
    with pytest.raises(BadOption, match="3 sides are compared"):
        _ = deviate.compare("baseline", "proposed", "two").p


def test_variants_are_found_by_their_names_and_in_words(project):
    variants = deviate.load("arms").variants
    algo = variants["algo"]
    assert variants["training's draws"] is algo
    assert (algo.mean, algo.sd) == (algo["test acc"].spread.mean, algo["test acc"].spread.sd)
    with pytest.raises(BadOption, match="no variant 'init'"):
        _ = variants["init"]


def test_a_plan_looks_for_pairs_by_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = [f"{k:08x}" for k in range(8)]
    noise = 0.2 * np.random.default_rng(2).standard_normal(8)
    write_experiment(tmp_path, "base", BASE, drawn=drawn)
    write_experiment(tmp_path, "near", {"test acc": (np.array(BASE["test acc"]) + noise).tolist()}, drawn=drawn)
    write_experiment(tmp_path, "apart", BETTER, drawn=[f"{k:08x}" for k in range(20, 28)])
    found = deviate.plan("base", difference=0.8)
    typed = deviate.plan("base", difference=0.8, against="near")
    paired = found.paired_elsewhere
    assert (paired.against, paired.pairs, paired.runs) == ("near", 8, typed.answers[0].runs)
    said = f"Same seeds on both sides may need fewer: {paired.runs}, as far as the 8 pairs with near tell."
    assert said in " ".join(render_terminal(found.page("screen"), 80).split())
    assert found.add_runs == f"deviate run -n {found.answers[0].runs} --name base --seed 1 -- python train.py"
    assert typed.paired_elsewhere is None
    assert deviate.plan("apart", difference=0.8).paired_elsewhere is None
    assert deviate.plan("base").paired_elsewhere is None


@pytest.mark.parametrize("paired", [False, True])
def test_compare_and_plan_say_one_number(tmp_path, monkeypatch, paired):
    monkeypatch.chdir(tmp_path)
    drawn = [f"{k:08x}" for k in range(8)] if paired else None
    noise = 0.7 * np.random.default_rng(5).standard_normal(8)
    write_experiment(tmp_path, "base", BASE, drawn=drawn)
    write_experiment(tmp_path, "near", {"test acc": (np.array(BASE["test acc"]) + noise).tolist()}, drawn=drawn)
    (metric,) = deviate.compare("base", "near", metrics="test acc").pairs[0].metrics
    known = metric.sensitivity
    assert (metric.verdict, metric.contrast.paired) == ("no difference shown", paired)
    said = run("compare", "base", "near", "--metric", "test acc").stdout
    assert f"for {known.smaller:g}, {known.runs_for_smaller} runs of each:" in said
    (typed,) = [line for line in said.replace("\n  ", " ").splitlines() if "deviate plan" in line]
    words = shlex.split(typed.partition("deviate ")[2])
    plan = json.loads(run(*words, "--json").stdout)
    assert plan["answers"][0]["runs"] == known.runs_for_smaller
    rung = next(each for each in plan["ladder"] if each["runs"] == 8)
    assert rung["detectable_difference"] == pytest.approx(known.detectable_in_unit)
