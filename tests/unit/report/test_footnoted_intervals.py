"""The table of metrics says how the intervals in it were made."""

import pytest
import report_cases as cases

FEW, MANY = [1.0, 2.0, 4.0], [1.0, 2.0, 4.0, 3.0, 2.5, 2.0]
WIDER = "the wider of chi-square and Bonett's, which allows for heavy tails"
CHANGES = f"CI of the SD: chi-square below 5 runs, which assumes normal values; from 5 runs on {WIDER}."


@pytest.mark.parametrize(
    ("samples", "note"),
    [
        ({"x": FEW}, CHANGES),
        ({"x": MANY}, f"CI of the SD: {WIDER}."),
        ({"x": MANY, "y": [*FEW, None, None, None]}, CHANGES),
        ({"x": [1.0]}, ""),
    ],
)
def test_the_method_of_the_intervals_of_the_sd_stands_below_the_table(samples, note):
    document = cases.document({"algo+impl": samples})
    shown = [text for text in document.variants[0].footnotes if text.startswith("CI of the SD")]
    assert shown == ([note] if note else [])
    assert note in cases.render_markdown(document)


def test_variants_with_few_and_many_runs_say_where_the_method_changes():
    mixed = cases.document({"init": {"x": FEW}, "shuffle": {"x": MANY}})
    assert CHANGES in mixed.across_notes
    alike = cases.document({"init": {"x": MANY}, "shuffle": {"x": MANY[::-1]}})
    assert CHANGES not in alike.across_notes


def test_columns_are_named_for_what_they_hold():
    document = cases.document({"algo+impl": {"x": MANY}})
    assert "low – high" in cases.render_terminal(document, 60)
