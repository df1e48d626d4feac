"""What terminals show beside numbers: strips of runs and learning curves, in Unicode and in ASCII."""

import io
import re

import msgspec
import numpy as np
import pandas as pd
import pytest
import report_cases as cases
from rich.cells import cell_len
from rich.console import Console

from deviate.facts.curves import curves_of
from deviate.report.strips import ASCII_BLOCKS, BLOCKS, CROWDED, EMPTY, ONE, SEVERAL, STRIP_WIDTH, strip
from deviate.report.topics.experiment import experiment_page
from deviate.report.writers.terminal import CURVE_WIDTH, print_page

THREE = {
    "algo+impl": {"acc": [0.0, 5.0, 10.0], "loss": [1.0, 1.5, 2.0]},
    "init": {"acc": [4.0, 5.0, 6.0], "loss": [1.0, 1.0, 1.0]},
    "control": {"acc": [2.0, 2.0, 2.0], "loss": [1.2, 1.2, 1.2]},
}

NAMES = {"plain": "acc", "wide": "验证准确率 " * 8, "combining": "e\u0301" * 30, "emoji": "🙂" * 30}


def printed(document, width, encoding="utf-8", curves=None):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="")
    page = experiment_page(getattr(document, "facts", document), "brief", curves)
    print_page(page, Console(file=stream, width=width, _environ={}))
    stream.flush()
    return raw.getvalue().decode(encoding)


def records(curves, metric="acc", variant="algo+impl"):
    rows = [(variant, run, metric, step, value) for run, curve in enumerate(curves) for step, value in enumerate(curve)]
    return pd.DataFrame(rows, columns=["variant", "run", "metric", "iteration", "value"])


def test_of_many_runs_a_strip_is_a_histogram():
    few = strip([float(value) for value in range(CROWDED)])
    assert set(few) <= {EMPTY, ONE, SEVERAL}
    many = strip([0.0] * 40 + [9.0] * 5 + [10.0] * 10)
    assert many == f"{BLOCKS[-1]}{EMPTY * (STRIP_WIDTH - 2)}{BLOCKS[int(15 / 40 * 8)]}"
    assert strip([0.0] * 1000 + [10.0])[-1] == BLOCKS[0], "one run of many is seen"


def test_curves_are_shown_where_they_are_given():
    document = cases.document({"algo+impl": {"acc": [3.0, 5.0]}})
    curves = curves_of(document, cases.by_run(records([[0.0, 1.0, 2.0, 3.0], [0.0, 3.0, 4.0, 5.0]])))
    lines = printed(document, 80, curves=curves).splitlines()
    row = next(line for line in lines if line.startswith("acc ") and BLOCKS[0] in line)
    # The median of the two runs is 0, 2, 3, 4.
    assert row.split() == ["acc", "0", "▁▅▇█", "4", "4"]
    assert "median curve" not in printed(document, 80)


def test_variants_of_a_curve_share_its_scale():
    document = cases.document({"init": {"acc": [1.0, 1.0]}, "control": {"acc": [4.0, 4.0]}})
    parts = [records([[0.0, 1.0]] * 2, variant="init"), records([[0.0, 4.0]] * 2, variant="control")]
    text = printed(document, 80, curves=curves_of(document, cases.by_run(pd.concat(parts))))
    rows = [line.split() for line in text.splitlines() if re.match(r"acc (initialisation|nothing) ", line)]
    assert {row[1]: row[-3] for row in rows} == {"initialisation": "▁▃", "nothing": "▁█"}


def test_a_constant_curve_and_a_huge_one_are_drawn():
    document = cases.document({"algo+impl": {"acc": [3.0, 3.0]}})
    flat = printed(document, 80, curves=curves_of(document, cases.by_run(records([[3.0] * 3] * 2))))
    assert "▁▁▁" in flat
    huge = printed(document, 80, curves=curves_of(document, cases.by_run(records([[-1.7e308, 1.7e308]] * 2))))
    assert "▁█" in huge


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_long_curve_fits_the_terminal(width, encoding):
    document = cases.document({"algo+impl": {"acc": [3.0, 3.0], "loss": [1.0, 2.0]}})
    noise = np.random.default_rng(0).normal(size=(2, 5000)).cumsum(axis=1)
    text = printed(document, width, encoding, curves_of(document, cases.by_run(records(noise))))
    row = next(line for line in text.splitlines() if re.match(r"acc .* 5000$", line))
    drawn = max(re.findall(f"[{BLOCKS if encoding == 'utf-8' else re.escape(ASCII_BLOCKS)}]+", row), key=len)
    assert 10 <= len(drawn) <= CURVE_WIDTH
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES)
def test_ascii_is_as_wide_as_unicode(case):
    assert max(map(len, printed(case(), 80, "ascii").splitlines())) <= 80


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_rows_keep_to_the_width_whatever_the_names_are(name, width):
    values = {name: [1.0, 2.0, 4.0], "f1": [0.5, 0.6, 0.8]}
    for document in (cases.document({"algo+impl": values}), cases.document(dict.fromkeys(THREE, values))):
        text = printed(document, width)
        assert max(map(cell_len, text.splitlines())) <= width
        assert re.search(r"^f1 .*0\.63", text, re.MULTILINE) or re.search(r"everything .*0\.63", text)
        assert max(map(len, printed(document, width, "ascii").splitlines())) <= width


def test_a_command_is_folded_and_not_cut():
    long = "/" + "/".join(["a-folder-with-a-long-name"] * 8)
    document = cases.usual().facts
    definition = msgspec.structs.replace(document.definition, command=["python", f"{long}/x.py"])
    text = re.sub(r"\s+", "", printed(msgspec.structs.replace(document, definition=definition), 80))
    assert f"--python{long}/x.py" in text
