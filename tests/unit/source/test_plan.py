"""From findings to edits."""

from __future__ import annotations

from typing import Any

from deviate.core.experiment import Capture, MainLoop, Metric, Span
from deviate.source.overlay import plan_edits

SPAN = Span(3, 6, 3, 9)


def metric(file: str = "train.py", selected: bool = True, **capture: Any) -> Metric:
    return Metric(
        name="loss",
        variable="loss",
        expression="loss",
        file=file,
        line=3,
        end_line=3,
        function="<module>",
        sink="print",
        kind="loss",
        direction="lower",
        aggregate="last",
        confidence=1.0,
        why="",
        selected=selected,
        capture=Capture(**capture),
    )


def loop(kind: Any, span: Span | None = SPAN) -> MainLoop:
    return MainLoop(file="main.py", line=3, variable="epoch", kind=kind, why="", span=span)


def test_ids_are_places_in_the_list_and_files_are_apart() -> None:
    metrics = [
        metric(how="value", span=SPAN),
        metric(how="value", span=SPAN, selected=False),
        metric(how="framework"),
        metric(file="engine.py", how="mapping", span=SPAN),
    ]
    edits = plan_edits(metrics, None)
    assert {file: [edit.before for edit in listed] for file, listed in edits.items()} == {
        "train.py": ["__dv__(0, "],
        "engine.py": ["__dv_map__(3, "],
    }


def test_names_are_handed_over_unevaluated() -> None:
    metrics = [
        metric(how="value", span=SPAN, label="split"),
        metric(how="beside", span=SPAN, beside="self.loss"),
        metric(how="beside", span=SPAN, beside="loss", label="split"),
    ]
    assert [edit.after for edit in plan_edits(metrics, None)["train.py"]] == [
        ", lambda: split)",
        ", lambda: self.loss)",
        ", lambda: loss, lambda: split)",
    ]


def test_the_header_of_the_main_loop_is_wrapped() -> None:
    assert plan_edits([], loop("for"))["main.py"][0].before == "__dv_loop__("
    assert plan_edits([], loop("while"))["main.py"][0].function == "__dv_while__"
    assert plan_edits([], loop("while"))["main.py"][0].after == ", lambda: epoch)"
    assert plan_edits([], loop("call", None)) == {}
