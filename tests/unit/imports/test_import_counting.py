"""Numbers of lines that have no name, and columns that count or tell the time by their values."""

import pytest
from test_import_printed import iterations, log  # noqa: F401
from test_import_tables import proposed, read, table, values  # noqa: F401

TRAIN = [round(2.5 / (1 + 0.3 * k), 3) for k in range(7)]


@pytest.mark.parametrize(
    ("line", "read_as"),
    [
        ("loss {0:.3f} -> {1:.3f}", {"loss": TRAIN[1:], "loss before": TRAIN[:-1]}),
        ("loss: {0:.3f} → {1:.3f} lr 0.1", {"loss": TRAIN[1:], "loss before": TRAIN[:-1]}),
        ("dice: [{0:.3f}, {1:.3f}]", {"dice/0": TRAIN[:-1], "dice/1": TRAIN[1:]}),
        ("dice: [{0:.3f} {1:.3f}]", {"dice/0": TRAIN[:-1], "dice/1": TRAIN[1:]}),
        ("dice=({0:.3f}, {1:.3f})", {"dice/0": TRAIN[:-1], "dice/1": TRAIN[1:]}),
    ],
)
def test_values_that_share_a_name_are_all_read_and_the_form_shown_reads_them_again(log, line, read_as):  # noqa: F811
    path = log("".join(f"epoch {k} {line.format(*TRAIN[k : k + 2])}\n" for k in range(6)))
    results = read(path)
    form = results.notes[0].partition("--pattern ")[2].partition("; type another")[0].strip("'\"")
    again = [] if "] " in line else [read(path, patterns=[form.replace("'\"'\"'", "'")])]
    for each in (results, *again):
        assert {name: values(each, name)["train.log"] for name in read_as} == read_as


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("loss {0:.3f} ({1:.3f})", "'('"),
        ("loss {0:.3f} | {1:.3f}", "'|'"),
        ("loss {0:.3f} running {1:.3f} len {2}", "'running', 'len'"),
        ("loss {0:.3f} ± {1:.3f}", "'±'"),
        ("loss: {0:.3f}+-{1:.3f}", "'+-'"),
        ("acc {0:.3f}/{1:.3f}", "'/'"),
        ("loss {0:.3f} IoU: {{0.5: {1:.3f}}}", "':'"),
        ("loss {0:.3f} in {1:.3f} s [00:{2}<00:11, {1:.2f}it/s] 12:{2}:33,{2} train.py:{2} {2}0%|### {2}/90", ""),
    ],
)
def test_numbers_without_a_name_are_said_to_be_left_out(log, line, said):  # noqa: F811
    results = read(log("".join(f"epoch {k} {line.format(*TRAIN[k : k + 2], 10 + k)}\n" for k in range(6))))
    left_out = [note for note in results.notes if note.startswith("Left out of these lines")]
    assert left_out == (
        [f"Left out of these lines: the numbers behind {said}. A --pattern with fields for them reads them."]
        if said
        else []
    )


def rows(columns, seed=0):
    head = ",".join(["step", "err", *columns])
    lines = (
        ",".join(
            map(
                str,
                [100 * k, round(2.5 / (1 + 0.3 * k) + seed / 100, 4), *(each(k, seed) for each in columns.values())],
            )
        )
        for k in range(1, 11)
    )
    return "\n".join([head, *lines])


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("percentage", lambda k, seed: 10 * k, "counters by their values"),
        ("seen", lambda k, seed: 64 * k + 7, "counters by their values"),
        ("mtok", lambda k, seed: round(0.1234 * k, 3), "counters by their values"),
        ("stairs", lambda k, seed: k * k, "counters by their values"),
        ("time_elapsed", lambda k, seed: round(1.3 * k + (0.1 + seed) * k * k, 2), "clocks"),
        ("wall", lambda k, seed: round(1.3 * k + seed, 2), "clocks"),
    ],
)
@pytest.mark.parametrize("runs", [1, 3])
def test_what_rises_with_the_iterations_alike_in_all_runs_is_no_metric(table, name, value, reason, runs):  # noqa: F811
    paths = [table(rows({name: value}, seed), f"{seed}.csv") for seed in range(runs)]
    (proposal,) = proposed(*paths)
    found = [metric.name for metric in proposal.experiment.metrics]
    if runs == 1 and name == "stairs":
        assert found == ["err", name]  # One curve alone may be of a metric.
        return
    assert found == ["err"]
    assert f"No metrics: {name} ({reason}). --metric {name} takes one in." in proposal.experiment.imported.notes
    (named,) = proposed(*paths, metrics=(name,))
    assert [metric.name for metric in named.experiment.metrics] == [name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gain", lambda k, seed: round(k**0.5 * 3 + seed * k / 50, 3)),
        ("cum_gain", lambda k, seed: round(2 * k + seed * (k * 37 % 11) / 40, 3)),
        ("accuracy", lambda k, seed: 5 * k),
        ("step_time", lambda k, seed: 0.5 + (k * 37 % 11) / 100),
    ],
)
def test_a_learning_curve_is_a_metric(table, name, value):  # noqa: F811
    paths = [table(rows({name: value}, seed), f"{seed}.csv") for seed in range(3)]
    assert [metric.name for metric in proposed(*paths)[0].experiment.metrics] == ["err", name]


def test_iterations_of_a_log_whose_line_has_many_numbers_are_right(log):  # noqa: F811
    results = read(log("".join(f"[{k}] top: [0.{k}, 0.{k + 1}] acc 0.{k}\n" for k in range(1, 6))))
    assert iterations(results, "acc") == iterations(results, "top/1") == [1, 2, 3, 4, 5]


def test_runs_that_do_not_vary_have_metrics(table):  # noqa: F811
    paths = [table(rows({"gain": lambda k, seed: round(k**0.5, 3)}), f"{run}.csv") for run in range(3)]
    assert [metric.name for metric in proposed(*paths)[0].experiment.metrics] == ["err", "gain"]
