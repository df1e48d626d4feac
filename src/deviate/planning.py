"""Plan a number of runs: from what the user typed to the answers."""

from __future__ import annotations

import math

import numpy as np

from deviate.collect.measured import TIME_PER_RUN
from deviate.comparison import read_side
from deviate.errors import BadOption
from deviate.replicate.workspace import Workspace
from deviate.report.comparison.gather import side_metric
from deviate.report.comparison.inputs import Side, SideMetric
from deviate.report.order import first_asked
from deviate.report.plan import Pilot, Plan, PlanAsked, build_plan


def plan(workspace: Workspace | None, name: str | None, metric: str | None, asked: PlanAsked) -> Plan:
    """Say how many runs the questions take.

    Parameters
    ----------
    workspace : Workspace or None
        Where the pilot is; None without one.
    name : str or None
        The pilot: ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``.
    metric : str or None
        Whose SD is planned with; by default the one a reader asks for first.
    asked : PlanAsked
        The questions.

    Raises
    ------
    UnknownExperiment
        If there is no such experiment.
    BadOption
        If a number cannot be, or the pilot tells no SD.
    """
    check_plan(asked)
    if name is None or workspace is None:
        if metric is not None:
            raise BadOption("--metric needs a pilot", hint=f"type: deviate plan EXPERIMENT --metric {metric!r}")
        return build_plan(asked, None)
    side = read_side(workspace, name)
    if not side.metrics:
        raise BadOption(
            f"{name} has no metric with a finite value", hint=f"`deviate report {side.experiment}` says why"
        )
    found = side_metric(side, metric or first_asked(side.metrics).name, "--metric")
    return build_plan(asked, _pilot(side, found, asked))


def check_plan(asked: PlanAsked) -> None:
    """Refuse numbers that cannot be.

    Raises
    ------
    BadOption
        With the option at fault.
    """
    if not 0 < asked.alpha < asked.power < 1:
        raise BadOption(
            f"--alpha and --power lie between 0 and 1, alpha below power; found {asked.alpha:g} and {asked.power:g}",
            hint="type for example --alpha 0.05 --power 0.8",
        )
    above_zero = {
        "--sd": asked.sd,
        "--difference": None if asked.difference is None else abs(asked.difference),
        "--sd-ratio": asked.sd_ratio,
        "--precision": asked.precision,
        "--seconds": asked.seconds,
    }
    for option, value in above_zero.items():
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise BadOption(f"{option} must be above 0, found {value:g}", hint=f"type for example {option} 2")
    if asked.sd_ratio == 1:
        raise BadOption("--sd-ratio 1 is no difference", hint="type for example --sd-ratio 2")
    if asked.runs is not None and asked.runs < 2:
        raise BadOption(f"--runs must be 2 or more, found {asked.runs}", hint="one run tells nothing about spread")
    if asked.tests < 1:
        raise BadOption(f"--tests must be 1 or more, found {asked.tests}", hint="type --tests 1")


def _pilot(side: Side, metric: SideMetric, asked: PlanAsked) -> Pilot:
    values = np.asarray(metric.values)
    if asked.sd is None and (values.size < 2 or np.ptp(values) == 0):
        what = "has fewer than two runs" if values.size < 2 else "gave the same value in every run"
        raise BadOption(
            f"{metric.name!r} in {side.label} {what}, so it tells no SD to plan with",
            hint="make more runs, name another --metric, or give an --sd",
        )
    return Pilot(
        label=side.label,
        variant=side.variant,
        metric=metric.name,
        aggregate=metric.aggregate,
        unit=metric.unit,
        n=int(values.size),
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if values.size > 1 else math.nan,
        seconds=_seconds(side),
    )


def _seconds(side: Side) -> float | None:
    times = next((metric.values for metric in side.metrics if metric.name == TIME_PER_RUN), [])
    return float(np.mean(times)) if times else None
