"""Put mean, SD and verdict into a tracker by its own library, in the place that its variables and settings name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from deviate.core.errors import BadOption, NotInstalled
from deviate.core.shell_words import typed_line
from deviate.facts.comparison import Comparison
from deviate.facts.experiment import ExperimentFacts
from deviate.report.topics.comparison_answer import comparison_headline
from deviate.report.topics.experiment import plain_facts
from deviate.report.topics.headline import headline
from deviate.stats.intervals import Interval

#: Project of a tracker where its own variable names none.
PROJECT = "deviate"

#: What no tracker takes in a name.
_ODD = re.compile(r"[^\w\-./ ]")


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a tracker is given as one run of its own."""

    name: str
    #: Means, SDs, ends of intervals, numbers of runs.
    numbers: dict[str, float]
    #: Verdicts and the command that shows the rest.
    words: dict[str, str]
    #: The first sentences.
    note: str

    @property
    def slug(self) -> str:
        """What finds the run again: the same experiment is one run, however often it is put there."""
        return f"deviate-{re.sub(r'[^A-Za-z0-9-]+', '-', self.name)}"


def experiment_summary(facts: ExperimentFacts) -> Summary:
    """Return what is said of an experiment: of each metric mean, SD, their intervals and the number of runs."""
    facts = plain_facts(facts)
    numbers: dict[str, float | None] = {}
    for variant in facts.variants:
        before = f"{variant.variant}/" if len(facts.variants) > 1 else ""
        for metric in variant.metrics:
            numbers |= _numbered(f"{before}{metric.name}", "mean", metric.spread.mean, metric.ci_mean)
            numbers |= _numbered(f"{before}{metric.name}", "SD", metric.spread.sd, metric.ci_sd)
            numbers[f"{before}{metric.name} n"] = metric.n
    sentences = [sentence for variant in facts.variants for sentence in headline(variant)]
    return _summary(facts.experiment, numbers, {}, sentences, ["deviate", "report", facts.experiment])


def comparison_summary(facts: Comparison) -> Summary:
    """Return what is said of a comparison: of each metric the difference B - A, p, and the verdict."""
    numbers: dict[str, float | None] = {}
    verdicts: dict[str, str] = {}
    for pair in facts.pairs:
        before = f"{pair.b} against {pair.a}/" if len(facts.pairs) > 1 else ""
        for metric in pair.metrics:
            name, difference = f"{before}{metric.name}", metric.contrast.difference.negated
            for side, spread in (("A", metric.a.spread), ("B", metric.b.spread)):
                numbers |= {f"{name} mean {side}": spread.mean, f"{name} SD {side}": spread.sd}
            numbers |= _numbered(name, "difference", difference.value, difference.interval)
            numbers[f"{name} p"] = metric.deciding_p
            verdicts[f"{name} verdict"] = metric.verdict
    command = ["deviate", "compare", *facts.labels]
    return _summary(" against ".join(facts.labels), numbers, verdicts, comparison_headline(facts), command)


def _numbered(metric: str, what: str, value: float | None, interval: Interval) -> dict[str, float | None]:
    ends = {"low": interval.low, "high": interval.high}
    return {f"{metric} {what}": value, **{f"{metric} {what} CI {end}": number for end, number in ends.items()}}


def _summary(
    name: str, numbers: dict[str, float | None], words: dict[str, str], sentences: Sequence[str], command: list[str]
) -> Summary:
    typed = typed_line(command)
    return Summary(
        name=name,
        numbers={_ODD.sub("_", key): value for key, value in numbers.items() if value is not None},
        words={**{_ODD.sub("_", key): word for key, word in words.items()}, "report": f"{typed} -o report.html"},
        note="\n".join([*sentences, f"{typed}, in {os.getcwd()}"]),
    )


# The trackers. Each returns where the run is.


def _mlflow(summary: Summary) -> str:
    import mlflow

    if not {"MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID"} & os.environ.keys():
        mlflow.set_experiment(PROJECT)
    known = mlflow.search_runs(filter_string=f"tags.deviate = '{summary.slug}'", output_format="list", max_results=1)
    given = {"run_id": known[0].info.run_id} if known else {"run_name": summary.name}
    with mlflow.start_run(**given) as run:
        mlflow.log_metrics(summary.numbers)
        mlflow.set_tags({**summary.words, "deviate": summary.slug, "mlflow.note.content": summary.note})
    store, place = mlflow.get_tracking_uri(), f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
    return f"{store}/{place}" if store.startswith("http") else f"run {run.info.run_name} in {store}"


def _trackio(summary: Summary) -> str:
    import trackio

    trackio.init(project=PROJECT, name=summary.slug, resume="allow", config={**summary.words, "note": summary.note})
    trackio.log(summary.numbers)
    trackio.finish()
    return f"run {summary.slug}; trackio show --project {PROJECT}"


def _wandb(summary: Summary) -> str:
    import wandb

    project = os.environ.get("WANDB_PROJECT", PROJECT)
    run = wandb.init(
        project=project, id=summary.slug, name=summary.name, resume="allow", notes=summary.note, config=summary.words
    )
    run.summary.update(summary.numbers)
    run.finish()
    return str(run.settings.sync_dir if run.offline else run.url)


TRACKERS: dict[str, Callable[[Summary], str]] = {"mlflow": _mlflow, "trackio": _trackio, "wandb": _wandb}


def put_into(facts: ExperimentFacts | Comparison, tracker: str) -> Iterator[str]:
    """Put the summary of an experiment or a comparison into a tracker and say where it is."""
    summary = experiment_summary(facts) if isinstance(facts, ExperimentFacts) else comparison_summary(facts)
    yield f"{tracker}: {_put(tracker, summary)}\n"


def _put(tracker: str, summary: Summary) -> str:
    try:
        return TRACKERS[tracker](summary)
    except ImportError as missing:
        raise NotInstalled(f"the package {tracker!r} is missing", hint=f"type: pip install {tracker}") from missing
    except Exception as refused:
        raise BadOption(f"{tracker} took nothing: {refused}", hint="its own variables say where it stores") from refused
