"""What the names of all compared experiments share is said once on a screen, so that no column cuts them off."""

import further_pages
import page_cases
import pytest

from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.topics.comparison import comparison_page
from deviate.report.topics.comparison_caveats import shared_names
from deviate.report.topics.grid import grid_page
from deviate.report.writers.terminal import render_terminal

CELLS = "digits@lr=0.1,width=32", "digits@lr=0.02,width=32"


@pytest.mark.parametrize(
    ("names", "sentence", "rests"),
    [
        (CELLS, "Experiments of digits, all with width=32:", ["lr 0.1", "lr 0.02"]),
        (["a@lr=1,w=2", "b@lr=1,w=2"], "Experiments all with lr=1 and w=2:", ["a", "b"]),
        (["d@lr=1:algo", "d@lr=2:algo"], "Experiments of d, all with variant algo:", ["lr 1", "lr 2"]),
        (["why:init", "why:shuffle"], "Variants of why:", ["initialisation", "data order"]),
        (["base", "wider"], "", []),
        (["digits", "digits@lr=1"], "", []),
        (["why:algo+impl", "base"], "", ["why:everything"]),
    ],
)
def test_what_names_share(names, sentence, rests):
    shared = shared_names(names)
    assert (shared.sentence, list(shared.rests.values())) == (sentence, rests)


@pytest.mark.parametrize("reader", ["screen", "brief"])
def test_compared_cells_keep_their_names_whole_and_can_be_typed(reader):
    a, b = (page_cases.side(name, each.samples) for name, each in zip(CELLS, page_cases.sides(), strict=True))
    command = f"deviate compare {' '.join(CELLS)}"
    text = render_terminal(comparison_page(compare_sides([a, b], ComparisonOptions(), command), reader), 80)
    assert "…" not in text
    # What is typed has the whole names.
    typed = [line for line in text.splitlines() if "digits@" in line]
    assert all("deviate" in line or "--" in line for line in typed)
    assert "lr 0.02 is better than lr 0.1 by " in " ".join(text.split())


def test_a_grid_names_its_cells_by_their_settings():
    page = grid_page(further_pages.grid(), "screen")
    assert "digits@" not in render_terminal(page).partition("!")[0]


def test_charts_and_tables_of_a_page_have_the_rests_of_the_names_and_its_commands_the_whole():
    a, b = (page_cases.side(name, each.samples) for name, each in zip(CELLS, page_cases.sides(), strict=True))
    page = comparison_page(compare_sides([a, b], ComparisonOptions(), f"deviate compare {' '.join(CELLS)}"), "full")
    assert (page.title, page.subtitle) == ("lr 0.1 against lr 0.02", "Experiments of digits, all with width=32")
    assert page.command == f"deviate compare {' '.join(CELLS)}"
    assert "digits@" not in str([section for section in page.sections if section.slug != "again"])
