"""``--until`` as it is typed, and what is refused before the first run."""

import pytest
from compared_sides import write_experiment
from msgspec import structs

from deviate.core.errors import BadOption
from deviate.core.experiment import Capture, Findings, Metric
from deviate.report.topics.runs import progress_line
from deviate.runs.request import Request
from deviate.runs.until import Criterion, parse_until, settle_metric, settle_until, until_enough


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("val acc ±0.3", Criterion("val acc", "mean", 0.3, False)),
        ("val acc +-0.3", Criterion("val acc", "mean", 0.3, False)),
        ("val acc +/- .3", Criterion("val acc", "mean", 0.3, False)),
        ("val acc±2%", Criterion("val acc", "mean", 0.02, True)),
        ("val acc sd ±25%", Criterion("val acc", "sd", 0.25, True)),
        ("val acc SD ± 25 %", Criterion("val acc", "sd", 0.25, True)),
        ("noise sd mean ±1e-3", Criterion("noise sd", "mean", 0.001, False)),
        ("sd ±1", Criterion("sd", "mean", 1.0, False)),
        ("loss ± 2 ±1", Criterion("loss ± 2", "mean", 1.0, False)),
    ],
)
def test_what_can_be_typed(text, read):
    assert parse_until(text) == read


@pytest.mark.parametrize(
    "text", ["", "±1", "val acc", "val acc 0.3", "val acc ±", "val acc ±0", "val acc ±x", "val acc ±-1", "acc sd ±0.3"]
)
def test_what_cannot(text):
    with pytest.raises(BadOption) as raised:
        parse_until(text)
    assert "val acc sd ±25%" in raised.value.hint


def asked(**changes):
    return settle_until(Request(command=["python", "train.py"], **{"until": "val acc ±0.3", **changes}))


def test_the_runs_before_the_first_look_and_at_most():
    assert (asked().least, asked().most) == (10, 30)
    assert (asked(runs=40).least, asked(runs=40).most) == (40, 42)
    assert asked(most=12).most == 12
    assert (asked(until="val acc sd ±25%").least, asked(until="val acc sd ±25%").most) == (10, 74)
    assert asked(until=None) is None


def test_the_criterion_is_told_as_it_is_typed():
    assert [asked(until=text).text for text in ("a ±0.3", "a +-2%", "a sd ±25%")] == ["a ±0.3", "a ±2%", "a sd ±25%"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"runs": 4}, "-n 4 is too few"),
        ({"most": 11}, "takes 12 runs or more, and --max is 11"),
        ({"most": 0}, "and --max is 0"),
        ({"until": "val acc sd ±25%", "most": 48}, "takes 49 runs or more"),
        ({"until": "val acc sd ±0.001%"}, "more than 100,000 runs"),
        ({"until": None, "most": 5}, "--max says when to give up on --until"),
    ],
)
def test_what_cannot_be_met_is_refused(changes, said):
    with pytest.raises(BadOption, match=said):
        asked(**changes)


def findings(**capture):
    metric = Metric(
        name="val acc", variable="acc", expression="acc", file="train.py", line=1, end_line=1, function="<module>",
        sink="print", kind="quality", direction="higher", aggregate="last", confidence=1.0, why="",
        capture=Capture(**{"how": "value", **capture}),
    )  # fmt: skip
    return Findings(entry="train.py", main_loop=None, metrics=[metric])


def test_a_metric_that_no_run_can_report_is_refused_with_the_names():
    for name in ("val acc", "time per run", "time per iteration"):
        assert settle_metric(asked(until=f"{name} ±1"), findings()).metric == name
    with pytest.raises(BadOption, match="no metric 'acc' was found; did you mean 'val acc'"):
        settle_metric(asked(until="acc ±1"), findings())


def test_a_metric_is_named_in_either_case():
    assert settle_metric(asked(until="Val Acc ±1"), findings()).metric == "val acc"


def test_one_that_is_known_by_its_records_only_is_kept_as_it_was_recorded(tmp_path):
    folder = write_experiment(tmp_path, "train", {"left acc": [90.0, 91.0] * 6})
    until = settle_metric(asked(until="Left Acc ±9", runs=12), findings(how="mapping"))
    assert until.metric == "Left Acc"
    folder.write_experiment(structs.replace(folder.read_experiment(), until=until))
    looked, *_ = until_enough(lambda planned, first: iter(()), folder, until, ["algo+impl"], 1)
    assert "left acc ±" in progress_line(looked.variant, looked.look, looked.until)
    assert folder.read_experiment().until.metric == "left acc"


@pytest.mark.parametrize("capture", [{"how": "mapping"}, {"how": "framework"}, {"label": "split"}, {"key": "fit:acc"}])
def test_names_made_while_it_runs_are_left_to_the_first_run(capture):
    assert settle_metric(asked(until="anything ±1"), findings(**capture)).metric == "anything"
