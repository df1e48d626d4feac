"""The sections of a page, one a file, in the order in which they are read.

To add one, see `section.Section`; what it shows has to be in the document, for all writers say the same.
"""

from __future__ import annotations

from deviate.report.comparison.parts import Comparison
from deviate.report.parts import Document
from deviate.report.writers.html.section import Section
from deviate.report.writers.html.sections import (
    again,
    answer,
    curves,
    differences,
    distribution,
    factors,
    held,
    methods,
    metrics,
    ranking,
    remarks,
    reproduce,
    runs,
    seeds,
    tests,
    time,
    verdicts,
)

REPORT: tuple[Section[Document], ...] = (
    answer.SECTION,
    remarks.SECTION,
    metrics.SECTION,
    distribution.SECTION,
    curves.SECTION,
    factors.SECTION,
    time.SECTION,
    held.SECTION,
    seeds.SECTION,
    runs.SECTION,
    methods.SECTION,
    reproduce.SECTION,
)

COMPARISON: tuple[Section[Comparison], ...] = (
    answer.COMPARED,
    remarks.COMPARED,
    verdicts.SECTION,
    differences.SECTION,
    ranking.SECTION,
    tests.SECTION,
    methods.COMPARED,
    again.SECTION,
)
