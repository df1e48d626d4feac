"""The latest values of a run that goes on, in the order in which a reader asks for them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from deviate.collect.measured import measured_metrics
from deviate.experiment import Experiment
from deviate.replicate.events import Event, RunEnded, RunProgress
from deviate.report.order import main_first


def values_ordered(values: Mapping[str, float], experiment: Experiment) -> dict[str, float]:
    """Return the values by metric, the main metric first; those alike as they were.

    Parameters
    ----------
    values : mapping of str to float
        The latest value by name of the metric.
    experiment : Experiment
        Says what the metrics are measures of.
    """
    found = measured_metrics(experiment, [(name, -1) for name in values])
    known = {metric.name: metric for metric in found}
    return {metric.name: values[metric.name] for metric in main_first([known[name] for name in values])}


def with_ordered_values(event: Event, experiment: Experiment) -> Event:
    """Return the event with the values it carries in the order of `values_ordered`."""
    if isinstance(event, RunProgress | RunEnded):
        return msgspec.structs.replace(event, values=values_ordered(event.values, experiment))
    return event
