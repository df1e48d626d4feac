"""How the runs of each side were made, as a paper says it beside their comparison."""

from __future__ import annotations

from datetime import datetime

import msgspec

from deviate.facts.comparable import Comparability
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.experiment import ExperimentFacts, experiment_facts
from deviate.facts.samples import FIRST
from deviate.facts.stored import read_results
from deviate.store.folders import Workspace


def side_facts(
    workspace: Workspace, compared: Comparability, options: ComparisonOptions, now: datetime
) -> dict[str, ExperimentFacts]:
    """Read the facts about the compared metrics and runs of each side, by its label."""
    facts: dict[str, ExperimentFacts] = {}
    for index, side in enumerate(compared.sides):
        results = read_results(workspace.find_experiment(side.experiment), options.samples, partial=True)
        metrics = [match[index] for match in compared.metrics]
        # When runs reach a value is reported on anyhow.
        names = [metric.name for metric in metrics if metric.aggregate != FIRST]
        whole = experiment_facts(results, now, level=options.level, metrics=names)
        # In one order on all sides, so that what is so for each is said once.
        places = {name: place for place, name in enumerate(names)}
        variants = [
            msgspec.structs.replace(
                each, metrics=sorted(each.metrics, key=lambda metric: places.get(metric.name, len(places)))
            )
            for each in whole.variants
            if each.variant == side.variant
        ]
        facts[side.label] = msgspec.structs.replace(whole, variants=variants)
    return facts
