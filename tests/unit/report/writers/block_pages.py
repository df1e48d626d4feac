"""Pages that hold every kind of block, with texts of all sorts."""

from __future__ import annotations

import typing
from typing import Any, get_args

import msgspec

from deviate.report.figures import Figure
from deviate.report.page import (
    Answer,
    Bar,
    Bars,
    Block,
    ByMetric,
    Cell,
    Code,
    Column,
    Drawing,
    Facts,
    Fold,
    Hint,
    KeyFigure,
    Latex,
    Page,
    Panel,
    Remark,
    Remarks,
    Row,
    Section,
    Sentences,
    Strips,
    Table,
)

#: Ends of elements and comments, handlers, templates, escape sequences, columns, commands, and what hides or reorders.
HOSTILE = (
    "</script></style></title><script>window.hacked=1</script><img src=x onerror='hacked'><!--{{7*7}}{% x %}|a|"
    "[red]x[/red] *y* \x1b[31mz\x1b[0m \\input{/etc/passwd} $x^2$ 50% &_#~ `id \udcff \u202eabc\u202c\u2028\x00\n# n"
)

#: A name without a blank, of 60 cells.
LONG = "a_rather_long_name_of_a_metric/" + "x" * 29


def figure(slug: str = "distribution-acc", text: str = "") -> Figure:
    spec = {
        "data": {"name": "runs"},
        "datasets": {"runs": [{"run": f"a-0{text}", "value": 1.5}, {"run": "a-1", "value": 2.5}]},
        "mark": "point",
        "encoding": {"x": {"field": "value", "type": "quantitative"}},
        "width": "container",
    }
    return Figure(
        slug=slug, section="distribution", title=f"acc of each run{text}", description=f"2 runs{text}.", spec=spec
    )


def metrics(name: str = "test acc", **more: Any) -> Table:
    """Return a table with columns that narrow screens give up, a strip, and a row of unknown numbers."""
    columns = [
        Column(head="metric", numeric=False),
        Column(head="n", sacrifice=8, emphasis="quiet"),
        Column(head="mean", emphasis="strong"),
        Column(head="SD"),
        Column(head="95% CI of SD", sacrifice=5),
        Column(head="min", sacrifice=6),
        Column(head="   runs   ", head_alone="min    max", drawn=True, sacrifice=4),
        Column(head="max", sacrifice=6),
    ]
    texts = [("96.94", 96.94), ("0.52", 0.52), ("0.34–1.05", 0.34), ("96.10", 96.1), ("••··●•●··•", None), ("98", 98.0)]
    cells = [Cell(name, remark="best"), Cell("8", 8.0), *(Cell(text, value) for text, value in texts)]
    unknown = [Cell("loss", remark="last"), Cell("0", 0.0), *(Cell("–") for _ in texts)]
    rows = [Row(cells=cells), Row(cells=unknown)]
    return msgspec.structs.replace(
        Table(caption=f"{name} over runs", slug="metrics", columns=columns, rows=rows), **more
    )


def factors() -> Table:
    """Return a table with a row that is a part of the one above."""
    rows = [
        Row(cells=[Cell("algo+impl"), Cell("0.46", 0.46), Cell("≠", emphasis="accent")]),
        Row(cells=[Cell("init"), Cell("−0.0031", -0.0031), Cell("≈!", emphasis="warning")], inner=True),
        Row(cells=[Cell("control"), Cell("0.086", 0.086), Cell("=")]),
    ]
    columns = [
        Column(head="what varies", numeric=False),
        Column(head="SD"),
        Column(head="init", numeric=False, centered=True),
    ]
    return Table(
        caption="By what varies",
        slug="factors",
        columns=columns,
        rows=rows,
        sentences=["shuffle brings the largest SD."],
        notes=["= same in all runs, ≠ differs"],
        more=Hint(text="and 3 more metrics; all of them:", command="deviate report x --format md"),
    )


def audit() -> Table:
    """Return a table with notes on its rows."""
    columns = [Column(head="factor", numeric=False), Column(head="as it is", numeric=False), Column(head="probes")]
    rows = [
        Row(cells=[Cell("init"), Cell("pinned", emphasis="warning"), Cell("2", 2.0)], notes=["by `seed(0)` at a.py:3"]),
        Row(cells=[Cell("shuffle"), Cell("varies", emphasis="good"), Cell("2", 2.0)]),
    ]
    return Table(caption="Audit", columns=columns, rows=rows)


def checklist() -> Table:
    columns = [Column(head=head, numeric=False) for head in ("question", "answer", "asked by")]
    rows = [Row(cells=[Cell("Is there code?"), Cell("Yes: `python train.py`."), Cell("NeurIPS 5")])]
    return Table(caption="Checklist", columns=columns, rows=rows, prose=True, titled=True)


def strips() -> Strips:
    columns = [Column(head="median curve", numeric=False), *(Column(head=head) for head in ("first", "last", "steps"))]
    rows = [Row(cells=[Cell("acc"), Cell("0"), Cell("4"), Cell("4", 4.0, emphasis="quiet")])]
    table = Table(caption="Learning curves", columns=columns, rows=rows, notes=["Median of the runs."])
    return Strips(table=table, curves=[([0, 1, 2, 3], [0.0, 0.5, 0.75, 1.0])])


def bars(text: str = "") -> Bars:
    """Return a table with bars: a number with its interval, and one that needs none."""
    table = Table(
        caption="",
        columns=[Column(head="", numeric=False), Column(head="SD")],
        rows=[Row(cells=[Cell(f"everything{text}"), Cell("0.76", 0.76)]), Row(cells=[Cell("control"), Cell("")])],
    )
    heights = [Bar(0.42, 0.76, 1.82), Bar(0.0, 0.0, 0.0, "0, bit-identical")]
    return Bars(head=f"SD of acc{text}", table=table, bars=heights, ticks=[(0.0, "0"), (1.0, "1")])


def blocks(text: str = "") -> list[Block]:
    """Return one block of every kind and more of some, with `text` in each place that takes any."""
    name = f"test acc{text}"
    return [
        Answer(
            about=f"algo{text}",
            sentences=[f"Over 8 runs, `acc` was 96.94{text}.", "It varies."],
            figure=KeyFigure(
                label=f"acc{text}",
                text="96.94 ± 0.52",
                low="96.1",
                high=f"97.8{text}",
                runs=[(f"a-0{text}", 0.0, 0.5), ("a-1", 1.0, 0.5)],
            ),
        ),
        Answer(sentences=["First.", "Second follows from it."], listed=True),
        Answer(
            sentences=[],
            figure=KeyFigure(
                label=f"loss{text}",
                text="0.52",
                basis=f"mean of 2 runs{text}",
                beside=[f"mean [0.50, 0.54]{text}", "SD [0.01, 0.05]"],
                low="0.50",
                high="0.54",
                runs=[("a-0", 0.0, 0.5), ("a-1", 1.0, 0.5)],
            ),
        ),
        Sentences(sentences=[f"A sentence that has a shorter form{text}."], brief=[f"Shorter{text}."]),
        Sentences(about="Methods", sentences=[f"The command `python a_b.py` was run{text}.", "p < 1.5e-7."]),
        Sentences(sentences=["one", f"two{text}"], listed=True, emphasis="quiet"),
        Remarks(remarks=[Remark(message=f"Beware{text}", about=name), Remark(message="By the way.", severity="note")]),
        metrics(name, titled=True, remark=f"8 of 8 runs{text}", notes=[f"Order: by CV{text}."]),
        factors(),
        audit(),
        checklist(),
        Facts(pairs=[("Varied", f"initial parameters{text}"), ("", "and more"), (f"Seed{text}", "0")]),
        Facts(pairs=[(name, "bit-identical")], emphasis="strong"),
        Code(lines=[f"deviate run -n 8 -- python train.py{text}"]),
        Code(lines=["Traceback (most recent call last):", f"  File{text}", ""], output=True),
        Hint(text="See", command=f"deviate logs x{text}"),
        Drawing(figure=figure(text=text)),
        Drawing(figure=figure("time")),
        strips(),
        bars(text),
        Latex(tables=[metrics(name)]),
        metrics(f"{name} folded", folded=[(f"kernels only{text}", f"could not vary{text}")]),
        Facts(pairs=[(f"is it better?{text}", f"deviate compare a b{text}")], typed=True),
        Fold(
            title=name,
            remark=f"failed after 1.2 s{text}",
            emphasis="bad",
            blocks=[Code(lines=["boom"], output=True), Hint(text="", command="deviate logs x a-1")],
        ),
        Fold(title="Passed", emphasis="good", open=False, blocks=[Sentences(sentences=["Why."]), checklist()]),
        ByMetric(
            first="loss",
            panels=[
                Panel(metric=name, blocks=[metrics(name), Drawing(figure=figure("acc", text))]),
                Panel(metric="loss", blocks=[Sentences(sentences=["Nothing to see."])]),
            ],
        ),
    ]


def page(text: str = "") -> Page:
    """Return a page with every kind of block."""
    return Page(
        title=f"digits{text}",
        subtitle=f"python train.py{text}",
        reader="full",
        command="deviate report digits",
        sections=[
            Section(slug="answer", title=f"In short{text}", blocks=blocks(text)),
            Section(slug="again", blocks=[Code(lines=["deviate report"])]),
            Section(slug="nothing", title="Nothing", blocks=[]),
        ],
    )


#: Every kind of block that there is.
KINDS = {kind.__name__ for kind in get_args(typing.get_type_hints(Fold)["blocks"].__args__[0])}
