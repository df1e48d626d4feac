"""Kind and direction are read from the whole name: a table of what public training projects call their values."""

from pathlib import Path

import pytest

from deviate.lexicon.words import UNNAMED, meaning_of

TABLE = Path(__file__).with_name("names_of_metrics.txt").read_text(encoding="utf-8")
ROWS = [line.split(" | ") for line in TABLE.splitlines() if " | " in line and not line.startswith("#")]


def test_every_name_of_the_table_has_its_kind_and_direction():
    found = {name: meaning_of(name) or UNNAMED for name, _ in ROWS}
    wrong = [(name, label) for name, label in ROWS if f"{found[name].kind} {found[name].direction or '-'}" != label]
    assert wrong == []
    assert len(found) == len(ROWS) >= 400


@pytest.mark.parametrize(
    ("name", "kind", "direction"),
    [
        # A slash may divide, be part of a unit, or lead into a group.
        ("Accuracy/validation", "quality", "higher"),
        ("float(precision)", "quality", "higher"),
        ("loss_sum / float(num_batches)", "loss", "lower"),
        ("SamplesPerSec", "speed", "higher"),
        ("experiments/s3dis", None, None),
        ("time/forward", "speed", "lower"),
        # What is counted as the words of a name, and not as its letters.
        ("src/helpers", None, None),
        ("papers", None, None),
        # A part of the loss, and what is shown with the losses.
        ("Loss/iou", "loss", "lower"),
        ("Loss/accuracy", "quality", "higher"),
        ("Loss/learning_rate", "quality", None),
        # How far values lie apart is no quality; a loss that makes them lie apart is a loss.
        ("std of test acc", "quality", None),
        ("std_loss", "loss", "lower"),
        ("peak", None, None),
        ("gpu usage", "resource", "lower"),
    ],
)
def test_a_name_is_read_whole(name, kind, direction):
    meaning = meaning_of(name)
    assert (meaning.kind, meaning.direction) == (kind, direction) if kind else meaning is None
