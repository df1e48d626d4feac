"""The writer for a format or a file is found in one way, whatever is reported."""

import block_pages as pages
import pytest

from deviate.core.errors import BadOption
from deviate.report.writers.registry import PAGE_WRITERS, find_writer, writers

ALL = writers(**dict.fromkeys(("csv", "json", "junit", "summary"), lambda facts: "facts\n"))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        *(("a.md", "md"), ("A.JSON", "json"), ("x.csv", "csv"), ("x.summary.csv", "summary"), ("x.txt", "terminal")),
        *(("a.markdown", "md"), ("a.tex", "tex"), ("a.icml.tex", "icml"), ("a.htm", "html"), ("junit.xml", "junit")),
    ],
)
def test_the_name_of_a_file_says_the_format(file, name, tmp_path):
    assert find_writer(None, tmp_path / file, ALL).name == name


def test_the_format_wins_over_the_name_of_the_file(tmp_path):
    assert find_writer(" Markdown", tmp_path / "a.json", ALL).name == "md"
    assert find_writer(None, None, ALL).name == "terminal"


def test_what_is_not_offered_is_refused_with_what_is(tmp_path):
    offered = writers(json=lambda facts: "{}")
    with pytest.raises(
        BadOption, match=r"--format 'csv' is no format; expected one of terminal, md, tex, .*json, html$"
    ):
        find_writer("csv", None, offered)
    with pytest.raises(
        BadOption, match=r"'a\.docx' does not say .* \.txt, \.md, \.markdown, \.tex, .*\.json"
    ) as refused:
        find_writer(None, tmp_path / "a.docx", offered)
    assert refused.value.exit_status == 2


def test_pages_have_readers_and_facts_have_none():
    assert {name: writer.reader for name, writer in ALL.items()} == {
        **{"terminal": "brief", "md": "full", "html": "full"},
        **dict.fromkeys(("tex", "neurips", "icml", "jmlr"), "paper"),
        **dict.fromkeys(("json", "csv", "summary", "junit")),
    }


@pytest.mark.parametrize("writer", PAGE_WRITERS, ids=lambda writer: writer.name)
def test_every_format_of_pages_writes_one(writer):
    assert writer.render(pages.page()).endswith("\n")
