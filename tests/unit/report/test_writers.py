"""What every writer owes: all formats say the same, and no text breaks them."""

import csv
import io
import json
import math
import re
import struct
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import report_cases as cases
from rich.console import Console

from deviate.cli.report import experiment_writers
from deviate.core.errors import BadOption
from deviate.core.factors import plain_name
from deviate.report import views
from deviate.report.strips import strip
from deviate.report.topics.experiment import experiment_page, plain_facts
from deviate.report.topics.headline import screen_headline
from deviate.report.topics.metrics import METRICS_SHOWN
from deviate.report.writers.registry import find_writer
from deviate.report.writers.tables_csv import RECORD_COLUMNS, csv_rows, records_csv, summary_csv
from deviate.report.writers.terminal import print_page
from deviate.report.writers.tracked import TRACKERS

OFFERED = experiment_writers(())

ALL = pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES)
NUMBER = re.compile(r"(?<![\w.])−?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")

#: What Unicode and Markdown make of a metric's name in the table, and the colours of a terminal.
NASTY = "a|b [red]x[/red] *y* \x1b[31mz\x1b[0m <i>\n# n"


def no_constants(text):
    raise AssertionError(f"{text} is not JSON")


def parsed(document):
    return json.loads(cases.render_json(document), parse_constant=no_constants)


def metrics_of(document):
    return [metric for variant in parsed(document)["variants"] for metric in variant["metrics"]]


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def markdown_rows(text):
    """Yield the rows of all tables as dictionaries."""
    head = None
    for line in text.splitlines():
        if not line.startswith("| "):
            head = None
        elif head is None:
            head = cells(line)
        elif not line.startswith("| ---"):
            yield dict(zip(head, cells(line), strict=True))


def last_digit(text):
    """Weight of the last digit of a number as it is written."""
    mantissa, _, exponent = text.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def agrees(text, number):
    """Tell whether text is the number, rounded."""
    shown = text.removesuffix("%").replace("−", "-")
    if number is None:
        return shown == "–"
    exact = 100 * number if text.endswith("%") else number
    # Equal values have no SD to say how many digits are worth showing; six are.
    return abs(float(shown) - exact) <= 0.500001 * max(last_digit(shown), 1e-6 * abs(exact))


@ALL
def test_markdown_numbers_are_those_of_the_json(case):
    document = case()
    rows = [row for row in markdown_rows(cases.render_markdown(document)) if "metric" in row]
    told = parsed(document)["variants"]
    shown = [
        next(each for each in found["metrics"] if (each["name"], each["aggregate"]) == (metric.name, metric.aggregate))
        for variant, found in zip(document.variants, told, strict=True)
        if variant.completed
        for metric in variant.metrics
    ]
    assert len(rows) == len(shown)
    keys = {"n": "n", "mean": "mean", "SD": "sd", "CV": "cv", "min": "min", "max": "max", "range": "range"}
    for row, metric in zip(rows, shown, strict=True):
        if metric["n"] == 1 and "value" in row:
            assert agrees(row["value"], metric["mean"])
            continue
        for head, key in {**keys, "median": "median", "IQR": "iqr"}.items():
            assert agrees(row[head], metric[key]), (metric["name"], head, row[head], metric[key])
        for head, key in {"95% CI of the mean": "ci_mean", "95% CI of the SD": "ci_sd"}.items():
            ends = row[head].strip("[]").split(", ")
            assert all(agrees(*pair) for pair in zip(ends, metric[key] or [None], strict=True)), (
                row[head],
                metric[key],
            )


@ALL
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_terminal_numbers_are_those_of_the_json(case, width):
    """Every number in a row of the table is, rounded, a number the JSON has for that metric."""
    document = case()
    found = {metric["name"]: [] for metric in metrics_of(document)}
    for metric in metrics_of(document):
        keys = ("n", "mean", "sd", "min", "max", "range", "median")
        found[metric["name"]] += [metric[key] for key in keys if metric[key] is not None]
        found[metric["name"]] += [
            *(metric["ci_mean"] or []),
            *(metric["ci_sd"] or []),
            *([metric["cv"] * 100] if metric["cv"] is not None else []),
        ]
    lines = cases.render_terminal(document, width).splitlines()
    for name, numbers in found.items():
        for line in lines:
            if line.startswith(f"{name} ") and re.search(r"\s{2}", line) and "CI " not in line:
                for text in NUMBER.findall(line.removeprefix(name).replace("%", "").replace("–", " ")):
                    assert any(agrees(text, number) for number in numbers), (line, text)


@ALL
def test_sentences_of_the_terminal_and_markdown_are_those_of_the_json(case):
    document = case()
    plain = " ".join(cases.render_terminal(document, 300).split())
    variants = parsed(document)["variants"]
    for variant in variants:
        assert variant["identity"] in plain
    if len(variants) == 1:
        assert " ".join(screen_headline(plain_facts(document.facts).variants[0])) in plain
    for warned in parsed(document)["warnings"]:
        assert warned["message"] in plain


def test_the_spread_by_variant_is_the_same_in_every_format():
    document = cases.sources()
    tables = parsed(document)["spread_by_variant"]
    rows = [row for row in markdown_rows(cases.render_markdown(document)) if "what varied" in row]
    listed = [row for table in tables for row in table["rows"]]
    shown = [(row["what varied"].strip(), row["mean"], row["SD"].partition(" ")[0]) for row in rows]
    for row in listed:
        texts = [(mean, sd) for name, mean, sd in shown if name == plain_name(row["variant"])]
        folded = row["variant"] in ("impl", "augment")
        assert folded or any(agrees(mean, row["mean"]) and agrees(sd, row["sd"]) for mean, sd in texts)
    summary = {(row["variant"], row["metric"]): row for row in csv.DictReader(io.StringIO(summary_csv(document.facts)))}
    lines = [line.split() for line in cases.render_terminal(document, 80).splitlines()]
    for table in tables:
        for row in table["rows"]:
            assert float(summary[row["variant"], table["metric"]]["sd_relative"]) == row["relative"]
            words = plain_name(row["variant"]).split()
            assert not row["sd"] or any(
                line[: len(words)] == words
                and agrees(line[len(words)], row["mean"])
                and agrees(line[len(words) + 1], row["sd"])
                for line in lines
                if len(line) > len(words) + 2 and "[" in line[len(words) + 2]
            )


def test_marks_of_fingerprints_are_the_same_in_the_terminal_and_in_markdown():
    document = cases.sources()
    marked = {row["variant"].strip(): row for row in markdown_rows(cases.render_markdown(document)) if "init" in row}
    assert marked["data order"]["layers"] == "≈!"
    assert marked["initialisation"]["init"] == "≠"
    assert marked["nothing (control)"]["weights"] == "="
    lines = [line.split("  ") for line in cases.render_terminal(document, 120).splitlines()]
    for variant, row in marked.items():
        marks = [cell for head, cell in row.items() if head != "variant"]
        assert any(line[0] == variant and " ".join(line[1:]).split() == marks for line in lines)


@ALL
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(case, width):
    assert max(map(len, cases.render_terminal(case(), width).splitlines())) <= width


@ALL
def test_plain_text_holds_no_control_character(case):
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", cases.render_terminal(case()))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", cases.render_markdown(case()))
    assert not re.search(r" $", cases.render_terminal(case()), re.MULTILINE)


def test_json_is_the_contract():
    found = parsed(cases.usual())
    assert list(found)[:5] == ["schema", "experiment", "command", "variants", "warnings"]
    assert found["schema"] == 1
    (variant,) = found["variants"]
    assert list(variant)[:3] == ["variant", "runs", "metrics"]
    assert list(variant["runs"][0])[:5] == ["index", "status", "seconds", "seeds", "fingerprints"]
    keys = ["name", "aggregate", "n", "mean", "sd", "cv", "min", "max", "range"]
    keys += ["ci_mean", "ci_sd", "values", "excluded"]
    assert list(variant["metrics"][0])[: len(keys)] == keys
    assert [metric["name"] for metric in variant["metrics"]] == ["train loss", "test loss", "time per run", "test acc"]


@ALL
def test_json_metrics_are_sorted_by_cv_and_unknown_is_null_with_a_reason(case):
    for variant in parsed(case())["variants"]:
        cvs = [metric["cv"] for metric in variant["metrics"]]
        known = [cv for cv in cvs if cv is not None]
        assert cvs == sorted(known, reverse=True) + [None] * (len(cvs) - len(known))
        for metric in variant["metrics"]:
            numbers = ("mean", "sd", "cv", "min", "max", "range", "median", "iqr", "trimmed_mean")
            assert {key for key in (*numbers, "ci_mean", "ci_sd") if metric[key] is None} == set(metric["withheld"])
            assert all(isinstance(value, float) for value in metric["values"])


def test_json_holds_floats_exactly():
    values = [0.1 + 0.2, 1 / 3, 1e-12, 123456789.123456789]
    metrics = metrics_of(cases.document({"algo+impl": {"test acc": values}}))
    assert values in [metric["values"] for metric in metrics]


def test_json_is_valid_although_logs_are_not_text():
    runs = [cases.failed("algo+impl", 0, stderr_tail=["\udcff\x00 broken"])]
    document = cases.document({"algo+impl": {"f1": [0.5, 0.6]}}, runs=[*runs, *cases.completed("algo+impl", 2)[1:]])
    assert parsed(document)["variants"][0]["runs"][0]["stderr_tail"] == ["?\x00 broken"]


def test_a_name_cannot_break_out_of_its_format():
    document = cases.document({"algo+impl": {NASTY: [0.5, 0.75], "f1": [0.5, 0.6]}})
    assert {metric["name"] for metric in metrics_of(document)} == {NASTY, "f1", "time per run"}
    assert "[red]x[/red]" in "".join(line.split("  ")[0] for line in cases.render_terminal(document, 120).splitlines())
    rows = [row for row in markdown_rows(cases.render_markdown(document)) if "metric" in row]
    assert len(rows) == 3
    assert r"a\|b \[red\]x\[/red\] \*y\* z \<i\> # n" in {row["metric"].removesuffix(" (train.py:12)") for row in rows}


def troubled_page():
    return experiment_page(cases.troubled().facts, "brief")


def test_colours_are_for_terminals_alone():
    stream = io.StringIO()
    print_page(
        experiment_page(cases.troubled().facts, "brief"),
        Console(file=stream, force_terminal=True, color_system="standard", _environ={}),
    )
    assert "\x1b[" in stream.getvalue()
    assert "\x1b[31mstep" not in stream.getvalue()
    stream = io.StringIO()
    print_page(troubled_page(), Console(file=stream, _environ={}))
    assert "\x1b[" not in stream.getvalue()


def test_no_color_is_heeded():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="standard", _environ={"NO_COLOR": "1"})
    print_page(troubled_page(), console)
    assert not re.search(r"\x1b\[[\d;]*3[0-7]", stream.getvalue())


def test_a_terminal_without_unicode_gets_ascii():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict", newline="")
    print_page(troubled_page(), Console(file=stream, width=80, _environ={}))
    stream.flush()
    text = raw.getvalue().decode("ascii")
    assert "0.0082 [" in text
    assert "o" in text


def test_of_many_metrics_the_terminal_shows_the_first_and_counts_the_rest():
    lines = cases.render_terminal(cases.crowded(100), 80).splitlines()
    rows = [match.group() for line in lines if (match := re.match(r"metric \d+ best ", line))]
    assert rows == 2 * rows[:METRICS_SHOWN], "the columns that 80 characters have no room for stand below"
    assert f"and {101 - METRICS_SHOWN} more metrics" in "\n".join(lines)


def test_the_metric_of_the_first_sentence_is_always_in_the_table():
    noisy = {f"loss {k}": [1.0, 1.1, 1.2 + k / 1000] for k in range(40)}
    document = cases.document({"algo+impl": {**noisy, "test acc": [0.9, 0.9001, 0.9002]}})
    assert re.search(r"^test acc best ", cases.render_terminal(document, 80), re.MULTILINE)


def test_runs_that_ended_alike_are_shown_once():
    text = cases.render_terminal(cases.none_completed(), 80)
    assert "✗ run 0 and run 1 failed: exit status 1" in text
    assert text.count("RuntimeError: the loader lost its worker") == 1
    assert "deviate logs digits_mlp algo+impl-0" in text


def test_of_many_ways_to_fail_the_first_are_shown_and_the_rest_is_counted():
    runs = [cases.failed("algo+impl", k, reason=f"exit status {k}") for k in range(5)]
    text = cases.render_terminal(cases.document({"algo+impl": {}}, runs=runs, metrics=[]), 80)
    assert text.count("✗") == 3
    assert "and 2 more runs that did not complete" in text


def test_a_strip_has_a_dot_for_each_run_or_one_for_several():
    assert strip([]) == strip([1.0]) == strip([2.0, 2.0]) == ""
    assert strip([0.0, 1.0]) == "•········•"
    assert strip([0.0, 0.0, 0.5, 1.0]) == "●····•···•"
    assert strip([-1.7e308, 1.7e308]) == "•········•"


def records():
    bits = np.random.default_rng(0).integers(0, 2**63, 200, dtype=np.int64).view(np.float64)
    values = [*bits[np.isfinite(bits)], math.nan, math.inf, -math.inf, 0.1 + 0.2, -0.0]
    columns = {"metric": 'a,"b"\nc', "iteration": -1, "elapsed_s": 0.5, "value": values}
    return pd.DataFrame(columns, index=range(len(values)))


def part(table):
    return "algo+impl", 0, {name: column.to_numpy() for name, column in table.astype({"metric": object}).items()}


def test_csv_holds_every_record_bit_for_bit():
    table = records()
    text = "".join(records_csv(cases.usual().facts, [part(table.iloc[:50]), part(table.iloc[50:])]))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["experiment", *RECORD_COLUMNS]
    assert {(row["experiment"], row["metric"]) for row in rows} == {("digits_mlp", 'a,"b"\nc')}
    read = [struct.pack("<d", float(row["value"])) for row in rows]
    assert read[:-5] == [struct.pack("<d", value) for value in table["value"][:-5]]
    assert [row["value"] for row in rows[-5:-2]] == ["nan", "inf", "-inf"]
    assert read[-2:] == [struct.pack("<d", 0.1 + 0.2), struct.pack("<d", -0.0)]


def test_csv_says_what_is_the_same_in_all_rows_in_each_of_them():
    columns = {"iteration": np.array([0, 1, 1]), "value": np.array([0.0, -0.0, 5e-324])}
    assert csv_rows(columns, "e", "a,b").splitlines() == ['e,"a,b",0,0', 'e,"a,b",1,-0', 'e,"a,b",1,5e-324']
    assert csv_rows({"value": columns["value"]}).splitlines() == ["0", "-0", "5e-324"]


def test_csv_without_records_is_the_head():
    head = f"experiment,{','.join(RECORD_COLUMNS)}\n"
    for parts in ([], [part(records()[:0])]):
        assert "".join(records_csv(cases.usual().facts, parts)) == head


@ALL
def test_summary_csv_agrees_with_the_json(case):
    document = case()
    rows = list(csv.DictReader(io.StringIO(summary_csv(document.facts))))
    for row, metric in zip(rows, metrics_of(document), strict=True):
        assert row["metric"] == metric["name"]
        for key in ("n", "mean", "sd", "cv", "min", "max", "range", "median", "iqr"):
            assert (float(row[key]) if row[key] else None) == metric[key]


@ALL
@pytest.mark.parametrize("name", sorted(set(experiment_writers(())) - set(TRACKERS)))
def test_every_format_writes_every_document(case, name):
    facts, writer = case().facts, experiment_writers([part(records())])[name]
    page = experiment_page(facts, writer.reader) if writer.reader else facts
    assert "".join(writer.render(page)).endswith("\n")


@pytest.mark.parametrize(
    ("file", "name"),
    [("a.md", "md"), ("A.JSON", "json"), ("x.csv", "csv"), ("x.summary.csv", "summary"), ("x.txt", "terminal")],
)
def test_the_name_of_a_file_says_the_format(file, name, tmp_path):
    assert find_writer(None, tmp_path / file, OFFERED).name == name


def test_the_format_wins_over_the_name_of_the_file(tmp_path):
    assert find_writer("markdown", tmp_path / "a.json", OFFERED).name == "md"
    assert find_writer(None, None, OFFERED).name == "terminal"


def test_an_unknown_format_is_refused_with_the_right_ones(tmp_path):
    with pytest.raises(BadOption, match="terminal, md, tex, neurips, icml, jmlr, json, html, csv, summary") as refused:
        find_writer("docx", None, OFFERED)
    assert refused.value.exit_status == 2
    with pytest.raises(BadOption, match=r"'a.docx' does not say .* \.md"):
        find_writer(None, tmp_path / "a.docx", OFFERED)


@pytest.mark.parametrize("place", views._PAGES.values())
def test_each_view_without_figures_finds_the_function_that_makes_its_page(place):
    topic, _, name = place.partition(".")
    assert callable(getattr(import_module(f"deviate.report.topics.{topic}"), name))
