"""What the learning curves of a report do not show."""

from __future__ import annotations

from deviate.inference.curves import Curves

#: Scripts often print from 1; imported curves have the steps of their files.
COUNTED = "Iterations are counted from 0, whatever the script prints."


def curve_notes(curves: Curves, *, imported: bool = False) -> list[str]:
    """Say how iterations are counted and what was left out of the drawing."""
    variants = [variant for metric in curves.metrics for variant in metric.variants]
    notes = [] if imported else [COUNTED]
    fewer = [variant for variant in variants if len(variant.runs) < variant.recorded]
    if fewer:
        least = min(fewer, key=lambda variant: len(variant.runs) / variant.recorded)
        notes.append(
            f"Not every run's curve is drawn (at least {len(least.runs)} of {least.recorded} of a variant, evenly "
            "chosen by index); median and band are of all."
        )
    if any(variant.thinned for variant in variants):
        notes.append(
            "Long curves are drawn with fewer points: first and last, and of each stretch the smallest and the largest "
            "value and the first gap."
        )
    return notes
