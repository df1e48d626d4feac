"""What a notebook shows of experiments and comparisons."""

import re
from html.parser import HTMLParser

import pytest
import report_cases as cases

from deviate.report.numbers import UNKNOWN
from deviate.report.topics.distribution import MetricText
from deviate.report.topics.metrics import METRICS_SHOWN
from deviate.report.views import experiment_view

ALL = pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES)


def html_of(document):
    return experiment_view(document.facts)._repr_html_()


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        assert attrs == []
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def parsed(html):
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags


@ALL
def test_it_is_plain_html_with_the_numbers_of_the_document(case):
    document = case()
    found = parsed(html_of(document))
    assert set(found.tags) <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    for variant in document.variants:
        for metric in [metric for metric in variant.metrics if metric.n][:METRICS_SHOWN]:
            shown = MetricText(metric)
            # Of many variants only metrics and variants whose runs differ; columns without a number are left out.
            ranked = metric.spread.sd and metric.name in {table.metric for table in document.across}
            if len(document.variants) == 1:
                assert {shown.mean, shown.sd} - {UNKNOWN} <= set(found.cells)
            elif ranked:
                assert any(cell.startswith(f"{shown.sd[:3]}") for cell in map(str.strip, found.cells))


def test_texts_of_users_are_escaped():
    document = cases.document({"algo+impl": {"<script>alert(1)</script>": [1.0, 2.0]}})
    assert "<script" not in html_of(document)
    assert "&lt;script&gt;" in html_of(document)


def test_long_tables_are_counted():
    assert re.search(r"and \d+ more metrics", html_of(cases.crowded()))


def test_without_a_notebook_a_document_is_the_report():
    document = cases.usual()
    assert repr(experiment_view(document.facts)) == cases.render_terminal(document).rstrip("\n")


def test_figures_are_charts_by_slug():
    figures = experiment_view(cases.usual().facts).figures()
    assert "distribution-test-acc" in figures
    chart = figures["distribution-test-acc"].to_dict()
    assert chart["title"] == ["test acc (best): each dot one run; bar: mean, 95% CI"]
    assert chart["config"]["range"]["category"]
    assert figures.describe("distribution-test-acc").startswith("everything, 8 runs: mean 96.94")
    with pytest.raises(KeyError):
        figures["nothing"]
