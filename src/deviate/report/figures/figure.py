"""What a figure is: a chart with the words that go with it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Section = Literal["distribution", "curves", "factors", "comparison", "time"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One picture of a report."""

    #: Safe as a file name and as an HTML id, and unique in its list: ``distribution-test-acc``.
    slug: str
    section: Section
    title: str
    #: The numbers it shows in a sentence or two: a caption, and what a screen reader reads.
    description: str
    #: Empty where it is about no single metric.
    metric: str = ""
    #: Vega-Lite: one view or layers, as wide as what holds it, without the title, colours and sizes of a theme;
    #: `themes.themed` adds them. Plain data, because Altair takes a quarter of a second to build and check a chart, and
    #: a report may have hundreds.
    spec: dict[str, Any]

    @property
    def chart(self) -> Any:
        """The same as an Altair chart, checked against the schema of Vega-Lite."""
        import altair as alt

        return alt.Chart.from_dict({**self.spec, "description": self.description})
