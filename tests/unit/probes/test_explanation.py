"""Which lines drew for a factor: put together from what two probes wrote."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deviate.core.errors import BadOption
from deviate.observe.processes import Process
from deviate.probes.verdicts import check_factor, explain_factor
from deviate.report.page import Answer, Table
from deviate.report.topics.explanation import explanation_section


def explained(
    line: int, count: int, digest: str, call: str = "numpy.random.rand", exact: bool = True
) -> dict[str, Any]:
    place = {"file": "train.py", "line": line, "call": call, "exact": exact}
    return {"event": "explained", "factor": "other", "count": count, "digest": digest, **place}


def probe(*events: dict[str, Any], ended: bool = True) -> Any:
    end = [{"event": "end"}] if ended else []
    return SimpleNamespace(processes=[Process("1", [{"event": "start"}, *events, *end], None)])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("import numpy as np\na = np.random.rand(3)\n  \nb = np.random.rand(4)\n")
    return tmp_path


def test_the_first_line_whose_digest_differs_is_where_the_probes_part(project):
    first = probe(explained(2, 1, "aa"), explained(4, 1, "bb"), explained(4, 2, "bb"))
    second = probe(explained(2, 1, "aa"), explained(4, 1, "cc"))
    found = explain_factor("other", [first, second], project)
    assert [(line.line, line.text, line.counts, line.digests) for line in found.lines] == [
        (2, "a = np.random.rand(3)", [1, 1], ["aa", "aa"]),
        (4, "b = np.random.rand(4)", [2, 1], ["bb", "cc"]),
    ]
    assert (found.first_difference, found.complete) == (1, True)


def test_a_line_that_only_one_probe_reached_is_a_difference(project):
    found = explain_factor("other", [probe(explained(2, 1, "aa")), probe(ended=False)], project)
    assert (found.lines[0].counts, found.first_difference, found.complete) == ([1, None], 0, False)


def test_counts_of_processes_add_up(project):
    two = SimpleNamespace(processes=[*probe(explained(2, 3, "aa")).processes, *probe(explained(2, 4, "dd")).processes])
    (line,) = explain_factor("other", [two, two], project).lines
    assert (line.counts, line.digests) == ([7, 7], ["aa", "aa"])


def test_nothing_is_explained_that_nobody_asked_for(project):
    assert explain_factor(None, [probe(), probe()], project) is None
    assert explanation_section(None).blocks == []


def test_the_section_names_the_line_and_shows_both_digests(project):
    lines = explained(2, 1, "aa"), explained(4, 5, "bb", exact=False)
    found = explain_factor("other", [probe(*lines), probe(explained(2, 1, "ee"))], project)
    answer, table = explanation_section(found).blocks
    assert isinstance(answer, Answer)
    assert answer.sentences == ["2 lines drew for `other`.", "The two probes first differ at train.py:2."]
    assert isinstance(table, Table)
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["1", "train.py:2", "1", "aa ≠ ee", "a = np.random.rand(3)"],
        ["2", "before train.py:4", "5 / –", "bb ≠ –", "b = np.random.rand(4)"],
    ]


def test_a_factor_that_nothing_drew_for_is_said_to_be_so(project):
    section = explanation_section(explain_factor("layers", [probe(), probe()], project))
    assert [block.sentences for block in section.blocks] == [["Nothing was seen to draw for `layers`."]]


def test_what_is_no_factor_is_refused():
    with pytest.raises(BadOption, match="found 'impl'"):
        check_factor("impl")
