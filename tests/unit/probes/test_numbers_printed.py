"""What trial runs reported in text beside the metrics of the source."""

import msgspec
import pytest
from made import make_experiment, make_run, metric

from deviate.core.experiment import ObservedWish, Run
from deviate.probes.trial import PrintedNumber, printed_numbers
from deviate.report.topics.audit import METRICS_SHOWN, OTHERS_SHOWN, printed_blocks

STEPS = [(0, step, float(step), 1.0625 / (step + 1)) for step in range(4)]


@pytest.fixture
def folders(tmp_path):
    experiment = make_experiment(tmp_path, [metric("loss")])
    made = []
    for index in range(2):
        run = make_run(experiment, index, STEPS)
        lines = [f"epoch {step} loss {value:.4f} acc {40 + step + index}.5%" for _, step, _, value in STEPS]
        run.stdout_file.write_text("\n".join([*lines, "f1 0.5", ""]))
        made.append(experiment.run(Run(variant="control", index=index)))
    return made, experiment.read_experiment()


def test_what_is_printed_and_not_in_the_source_is_listed_with_its_kind_or_reason(folders):
    runs, experiment = folders
    accuracy, other, epoch = printed_numbers(runs[:1], experiment)
    assert (accuracy.name, accuracy.kind, accuracy.direction, accuracy.unit) == ("acc", "quality", "higher", "%")
    assert (accuracy.count, accuracy.first, accuracy.last, accuracy.varies) == (4, 40.5, 43.5, None)
    assert (other.kind, other.count) == ("quality", 1)
    assert (epoch.name, epoch.kind) == ("epoch", None)
    assert epoch.reason


def test_two_runs_tell_what_differs(folders):
    differ = {each.name: each.varies for each in printed_numbers(*folders)}
    assert (differ["acc"], differ["epoch"]) == (True, False)


def test_what_one_run_alone_printed_is_not_compared(folders):
    runs, experiment = folders
    runs[1].stdout_file.write_text("epoch 0 loss 1.0625 acc 41.5%\n")
    assert {each.name: each.varies for each in printed_numbers(runs, experiment)}["f1"] is None


def test_what_the_user_refuses_is_listed_with_that_reason(folders):
    runs, experiment = folders
    experiment = msgspec.structs.replace(experiment, observed=[ObservedWish(name="acc", metric=False)])
    (refused,) = [each for each in printed_numbers(runs, experiment) if each.name == "acc"]
    assert (refused.kind, refused.reason) == (None, "refused in deviate.toml")


def test_a_brief_page_lists_the_first_and_counts_the_others():
    def number(index, **fields):
        return PrintedNumber(name=f"n{index}", source="stdout", line="", count=1, first=0, last=0, **fields)

    metrics = [number(index, kind="loss") for index in range(METRICS_SHOWN + 2)]
    others = [number(index, reason="no") for index in range(OTHERS_SHOWN + 3)]
    table, more, listed = printed_blocks([*metrics, *others], brief=True)
    assert len(table.rows) == METRICS_SHOWN
    assert more.sentences == ["2 more are in the full report."]
    assert listed.sentences[-1] == "3 more"
    assert len(printed_blocks(metrics)[0].rows) == METRICS_SHOWN + 2
    assert printed_blocks([]) == []
