"""Times that a program rounded to 0, and what the screen says of numbers that the output alone shows."""

import report_cases as cases

from deviate.observe.reported import ReportedNumber

TIME = cases.metric("time", kind="speed", direction="lower", aggregate="last")
ACC = cases.metric("acc", aggregate="last")
SEEN = ReportedNumber(source="stdout", template="N - Ns", position=1, name="time", varies=True, metric="time",
                      observed=True)  # fmt: skip


def made(times, **more):
    return cases.document({"algo+impl": {"acc": [0.5, 0.6, 0.7], "time": times}}, metrics=[ACC, TIME], **more)


def heads(document):
    return [line.split("  ")[0] for line in cases.render_screen(document).splitlines()]


def screen(document):
    return " ".join(cases.render_screen(document).split())


def test_a_time_that_is_zero_in_every_run_is_not_on_the_screen():
    zero, measured = made([0.0, 0.0, 0.0]), made([0.0, 0.0, 1.0])
    assert "time" not in heads(zero)
    assert "time" not in heads(measured)
    assert "time is 0 in every run: rounded or not measured." in cases.render_terminal(zero)
    assert "No CV for time" not in cases.render_terminal(zero)
    assert "rounded or not measured" not in cases.render_terminal(measured)


def test_the_table_says_which_value_of_a_time_stands_for_a_run():
    assert "time last 3" in " ".join(cases.render_terminal(made([0.25, 0.25, 0.25])).split())


def test_a_loss_that_is_zero_in_every_run_is_a_result():
    loss = cases.metric("train loss", aggregate="last")
    document = cases.document({"algo+impl": {"train loss": [0.0] * 3, "acc": [0.5, 0.6, 0.7]}}, metrics=[loss, ACC])
    assert "train loss" in cases.render_screen(document)


def test_a_time_that_the_output_alone_shows_takes_no_room_on_the_screen():
    seen = {"algo+impl": [SEEN]}
    assert "Read from output or files" not in screen(made([1.0, 2.0, 3.0], reported=seen))
    assert "Read from output or files" in " ".join(cases.render_terminal(made([1.0, 2.0, 3.0], reported=seen)).split())
