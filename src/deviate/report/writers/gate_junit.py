"""The outcome of a gate as JUnit XML, which GitLab, Jenkins and others show: a test case a metric or other condition.

Each group of examples is a metric. There is no standard; the elements and attributes used are those that the schema of
Jenkins' xUnit plug-in and GitLab's parser have in common.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from deviate.facts.gate import Gate
from deviate.facts.gate_metric import GateMetric
from deviate.report.escape import clean, encodable
from deviate.report.topics.gate import churn_sentences, failure_sentences, gate_caveats
from deviate.report.topics.gate_lines import group_sentences, metric_lines

#: Characters that XML 1.0 cannot hold, not even escaped (section 2.2); controls are gone by `clean` already.
_NO_XML = re.compile("[\ufffe\uffff]")


def gate_junit(gate: Gate) -> str:
    """Return the document, indented, with a final newline.

    A metric that is worse is a failure; one about which too little is known is a failure too where such a one fails
    the gate, else it counts as skipped.
    """
    conditions = _conditions(gate)
    failures = sum(not metric.passed for metric in gate.judged) + sum(not passed for _, passed, _ in conditions)
    skipped = sum(_skipped(metric) for metric in gate.judged)
    counts = {
        "tests": str(len(gate.judged) + len(conditions)),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(skipped),
    }
    root = ElementTree.Element("testsuites", {"name": "deviate check", **counts, "time": "0"})
    suite = ElementTree.SubElement(
        root, "testsuite", {"name": _text(f"{gate.a} against {gate.b}"), **counts, "time": "0"}
    )
    for metric in gate.judged:
        _case(suite, metric, gate)
    for name, passed, sentences in conditions:
        _condition(suite, name, sentences, gate, passed=passed)
    if caveats := gate_caveats(gate):
        out = ElementTree.SubElement(suite, "system-out")
        out.text = "\n".join(_text(f"{caveat.severity}: {caveat.message}") for caveat in caveats)
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def github_lines(gate: Gate) -> list[str]:
    """Return a line of GitHub's for each metric that does not pass: it stands beside the change that is checked."""
    failing = [metric_lines(metric, gate) for metric in gate.judged if not metric.passed]
    return [
        _text(f"::error title={word} {what}::{'; '.join(line for _, line in rest)}") for (word, what), *rest in failing
    ]


def _case(suite: ElementTree.Element, metric: GateMetric, gate: Gate) -> None:
    name = {"name": _text(metric.name), "classname": _text(f"deviate.check.{gate.a}"), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", name)
    message = _text(f"{metric.name}: {metric.outcome}")
    lines = [f"{word}  {line}" if word else line for word, line in metric_lines(metric, gate)]
    sentences = "\n".join(map(_text, lines))
    if not metric.passed:
        failure = ElementTree.SubElement(
            case, "failure", {"message": message, "type": metric.outcome.replace(" ", "-")}
        )
        failure.text = sentences
    elif _skipped(metric):
        ElementTree.SubElement(case, "skipped", {"message": message})
    out = ElementTree.SubElement(case, "system-out")
    out.text = sentences


def _conditions(gate: Gate) -> list[tuple[str, bool, list[str]]]:
    """Return what the user allowed beside drops of metrics, each with whether it is kept and the reasons."""
    conditions = []
    if gate.failures.allowed is not None:
        conditions.append(("failures", gate.failures.passed, failure_sentences(gate)))
    if gate.churn is not None:
        conditions.append(("churn", gate.churn.passed, churn_sentences(gate)))
    if gate.groups is not None and gate.groups.withheld:
        conditions.append(("groups", gate.groups.passed, group_sentences(gate)))
    return conditions


def _condition(suite: ElementTree.Element, name: str, sentences: list[str], gate: Gate, *, passed: bool) -> None:
    words = {"name": name, "classname": _text(f"deviate.check.{gate.a}"), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", words)
    text = "\n".join(map(_text, sentences))
    if not passed:
        failure = ElementTree.SubElement(case, "failure", {"message": f"{name}: not shown to be kept", "type": name})
        failure.text = text
    out = ElementTree.SubElement(case, "system-out")
    out.text = text


def _skipped(metric: GateMetric) -> bool:
    return metric.passed and metric.outcome == "inconclusive"


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", encodable(clean(text)))
