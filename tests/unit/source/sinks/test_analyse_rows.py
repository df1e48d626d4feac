"""A sink is a row of a table."""

from pathlib import Path

import pytest
from analysed_projects import analyse, looped

from deviate.source.sinks import rows
from deviate.source.sinks.stores import tag_and_value


def test_a_new_tracker_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = looped('lab.note("train loss", loss.item())', before="import newlab\nlab = newlab.start()\n")
    assert not analyse(tmp_path, train=script).metrics
    monkeypatch.setitem(rows.BY_CALL, "note", [rows.Sink("newlab", "note", tag_and_value(0, 1), receiver=r"lab$")])
    [metric] = analyse(tmp_path, train=script).metrics
    assert (metric.name, metric.variable, metric.sink) == ("train loss", "loss", "newlab")
    assert metric.selected
    assert metric.why.startswith("reported to newlab in the main loop")


def test_a_row_whose_receiver_differs_is_passed_over(tmp_path: Path) -> None:
    script = looped('shop.report({"loss": loss.item()})\ntune.report({"loss": loss.item()})')
    assert [metric.line for metric in analyse(tmp_path, train=script).metrics] == [
        script.splitlines().index('        tune.report({"loss": loss.item()})') + 1
    ]


def test_each_call_leads_to_its_rows_in_the_order_of_the_table() -> None:
    for call, sinks in rows.BY_CALL.items():
        assert sinks == [sink for sink in rows.SINKS if call in sink.calls.split()]


MESSAGES = {
    "fields in braces": "log.info('loss {:.3f} after {}', loss.item(), epoch)",
    "fields in braces beside a percent sign": "log.info('loss {:.3f}%, {}', loss.item(), epoch)",
    "no fields": "log.info('loss', loss.item())",
}


@pytest.mark.parametrize("report", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_may_be_filled_otherwise_than_by_percent(tmp_path: Path, report: str) -> None:
    (metric,) = analyse(tmp_path, train=looped(report, before="from loguru import logger as log\n")).metrics
    assert (metric.name, metric.variable, metric.selected) == ("loss", "loss", True)


FURTHER = {
    "a console": "console.log(f'gap {loss.item():.3f}')",
    "pairs after a position": "bar.update(i, [('gap', loss.item())])",
    "pairs that are added": "bar.add(1, values=[('gap', loss.item())])",
    "a line of a table": "mb.write([epoch, loss.item()], table=True)",
    "a comment of a bar": "mb.child.comment = f'gap {loss.item():.3f}'",
    "what settings led to": "writer.add_hparams({'rate': 0.1}, {'gap': loss.item()})",
    "curves that grow": "plotlosses.update({'gap': loss.item()})",
    "a tracker of the hub": "trackio.log({'gap': loss.item()})",
    "curves beside one another": "vis.line(Y=np.column_stack((loss.item(), epoch)), X=np.array([[i, i]]), win=win)",
}


@pytest.mark.parametrize("report", FURTHER.values(), ids=FURTHER.keys())
def test_a_value_is_reported_by(tmp_path: Path, report: str) -> None:
    (metric,) = analyse(tmp_path, train=looped(report)).metrics
    assert (metric.variable, metric.selected) == ("loss", True)
