"""The outcome of a gate in a terminal: a line and its reasons for each metric, then what to know, then the outcome."""

from __future__ import annotations

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from deviate.report.escape import clean
from deviate.report.gate_parts import Gate, GateMetric
from deviate.report.words import count
from deviate.report.writers.terminal import PLAIN_WIDTH, WIDEST_TEXT

_ASCII = str.maketrans({"±": "+-", "–": "-", "·": ".", "✓": "+", "✗": "x"})

_STYLES = {True: ("✓", "green"), False: ("✗", "red")}


def render_gate_terminal(gate: Gate, width: int = PLAIN_WIDTH) -> str:
    """Return the outcome as plain text of at most `width` columns, without colour."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, color_system=None, force_terminal=False, legacy_windows=False, _environ={}
    )
    print_gate(gate, console)
    return stream.getvalue()


def print_gate(gate: Gate, console: Console) -> None:
    """Print the outcome on a rich console, which decides about width, colour and encoding."""
    with console.capture() as captured:
        for metric in gate.metrics:
            _metric(metric, console)
        for warned in gate.warnings:
            serious = warned.severity == "warning"
            mark = ("! ", "bold yellow") if serious else ("· ", "dim")
            _print(Text.assemble(mark, (clean(warned.message), "" if serious else "dim")), console, 0)
        _print(_outcome(gate), console, 0)
    text = "\n".join(line.rstrip(" ") for line in captured.get().split("\n"))
    if console.options.ascii_only:
        text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
    console.file.write(text)


def _metric(metric: GateMetric, console: Console) -> None:
    mark, style = _STYLES[metric.passed]
    after = "" if metric.outcome != "inconclusive" else f" ({'passes' if metric.passed else 'fails'}, as asked)"
    name = f"{clean(metric.name)} ({clean(metric.aggregate)})"
    _print(Text.assemble((mark, style), " ", (name, "bold"), f": {metric.outcome}{after}"), console, 0)
    _print(Text(clean(" ".join(metric.why))), console, 2)
    console.print()


def _outcome(gate: Gate) -> Text:
    failing = sum(not metric.passed for metric in gate.metrics)
    said = "passes" if gate.passed else f"does not pass: {failing} of {count(len(gate.metrics), 'metric')}"
    style = "bold green" if gate.passed else "bold red"
    return Text.assemble((f"{clean(gate.a)} against {clean(gate.b)} {said}.", style))


def _print(text: Text, console: Console, indent: int) -> None:
    right = max(0, console.width - WIDEST_TEXT)
    console.print(Padding(text, (0, right, 0, indent), expand=False), markup=False, highlight=False, emoji=False)
