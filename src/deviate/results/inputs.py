"""The inputs that a user gives for the examples of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from deviate.collect.inputs import read_inputs
from deviate.collect.matching import Withheld
from deviate.collect.prediction_files import UnreadableError
from deviate.collect.rows import match_rows
from deviate.errors import BadOption
from deviate.results.order import main_first
from deviate.results.predictions import Evaluation, KnownInputs, main_evaluation
from deviate.results.sample import Sample


def with_inputs(
    evaluations: Mapping[str, Sequence[Evaluation]], samples: Mapping[str, Sequence[Sample]], source: str
) -> dict[str, list[Evaluation]]:
    """Return the evaluations, of each variant the first that the inputs fit with them; the main one is tried first.

    Raises
    ------
    BadOption
        If the source cannot be read, or fits no evaluation.
    """
    try:
        inputs = read_inputs(Path(source))
    except (UnreadableError, OSError) as error:
        raise BadOption(
            f"--inputs {source}: {error}",
            hint="give an .npy, a table (csv, tsv, jsonl, parquet, npz) or a folder of pictures, one for each example",
        ) from error
    found, reasons = {}, []
    for variant, each in evaluations.items():
        main = main_evaluation(each, main_first(samples.get(variant, [])))
        found[variant] = list(each)
        for tried in sorted(each, key=lambda other: other is not main):
            if tried.predictions is None:
                continue
            matched = match_rows(inputs.name, inputs.rows, inputs.ids, tried.predictions)
            if isinstance(matched, Withheld):
                reasons.append(matched.reason)
                continue
            known = msgspec.structs.replace(tried, inputs=KnownInputs(inputs, matched[1]))
            found[variant] = [known if other is tried else other for other in each]
            break
    if not any(each.inputs for several in found.values() for each in several):
        raise BadOption(
            f"--inputs {source}: {reasons[0] if reasons else 'there are no predictions whose examples it could be of'}",
            hint="give one for each evaluated example; in a table a column `index` has its number in the data set",
        )
    return found
