"""The facts about single examples: on which of them runs disagree."""

from __future__ import annotations

import msgspec

from deviate.collect.inputs import Shown, show_entry
from deviate.collect.matching import Predictions
from deviate.measure.agreement import Agreement
from deviate.results.predictions import KnownInputs, class_name

#: Examples on the flip list.
FLIPS = 50

#: Examples of it whose inputs are shown, where the user gives them or the runs kept them.
PICTURED = 20


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """An example on which runs disagree."""

    #: Number in the data set, where examples are known by it; else the position in the evaluation of the first run.
    example: int
    #: Empty without targets.
    target: str
    #: The label of most runs, and how many give it.
    majority: str
    agreeing: int
    #: The most frequent other label, and how many give it.
    other: str
    others: int
    #: What is shown of its input, where the user gave inputs or the runs kept it: words, and a picture as a ``data:``
    #: address.
    input: str = ""
    picture: str = ""


def flip_list(agreed: Agreement, predicted: Predictions, inputs: KnownInputs | None) -> list[Flip]:
    """Return the examples on which runs disagree, those with the least agreement first."""
    unstable = [int(place) for place in agreed.order[:FLIPS] if agreed.unstable[place]]
    shown = [_shown(place, predicted, inputs) for place in unstable[:PICTURED]]
    shown += [Shown("")] * (len(unstable) - len(shown))
    return [_flip(agreed, predicted, place, each) for place, each in zip(unstable, shown, strict=True)]


def _shown(place: int, predicted: Predictions, inputs: KnownInputs | None) -> Shown:
    if inputs is not None:
        return inputs.show(place)
    kept = predicted.inputs.get(int(predicted.keys[place]))
    return Shown("") if kept is None else show_entry(kept)


def _flip(agreed: Agreement, predicted: Predictions, place: int, shown: Shown) -> Flip:
    numbers = predicted.keys if predicted.by == "index" or predicted.places is None else predicted.places
    return Flip(
        example=int(numbers[place]),
        target="" if predicted.targets is None else class_name(predicted, predicted.targets[place]),
        majority=class_name(predicted, agreed.majority[place]),
        agreeing=int(agreed.agreeing[place]),
        other=class_name(predicted, agreed.other[place]),
        others=int(agreed.others[place]),
        input=shown.text,
        picture=shown.picture,
    )
