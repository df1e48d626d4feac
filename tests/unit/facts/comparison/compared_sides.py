"""Sides of comparisons as the files of experiments would give them, and such files."""

import json

import numpy as np

from deviate.core.experiment import Capture, Experiment, Metric, Run
from deviate.facts.samples import Excluded, Sample
from deviate.facts.side import Side
from deviate.observe.fingerprints import Fingerprint
from deviate.runs.snapshot.manifest import Snapshot
from deviate.store.files import write_json
from deviate.store.folders import Workspace
from deviate.store.run_files import Completed, Failed


def side_metric(name="test acc", values=(1.0, 2.0), excluded=0, **changes):
    """A sample; `excluded` completed runs gave NaN."""
    fields = {
        "aggregate": "last",
        "kind": "quality",
        "unit": "",
        "direction": "higher",
        "runs": list(range(len(values))),
    }
    left = [
        Excluded(run=len(values) + index, status="completed", reported="nan", reason="the value is NaN")
        for index in range(excluded)
    ]
    return Sample(name=name, values=[float(value) for value in values], excluded=left, **{**fields, **changes})


def side(label="baseline", metrics=(), variant="algo+impl", **changes):
    n = max((len(metric.values) for metric in metrics), default=0)
    fields = {"experiment": label.partition(":")[0], "completed": n, "ended": n}
    return Side(label=label, variant=variant, samples=list(metrics), **{**fields, **changes})


def sides(n=8, shift=2.0, m=None, labels=("baseline", "proposed"), seed=0):
    """Two sides with an accuracy, a loss and a time; the second is better by `shift` SDs."""
    rng = np.random.default_rng(seed)
    made = []
    for place, (label, runs) in enumerate(zip(labels, (n, m or n), strict=True)):
        accuracy = 90 + 0.5 * (rng.standard_normal(runs) + place * shift)
        loss = 0.3 - 0.01 * (rng.standard_normal(runs) + place * shift)
        times = 10 + rng.standard_normal(runs)
        made.append(
            side(
                label,
                [
                    side_metric("train loss", loss, kind="loss", direction="lower"),
                    side_metric("test acc", accuracy),
                    side_metric("time per run", times, kind="speed", unit="s", direction="lower"),
                ],
            )
        )
    return made


def prints(*digests, name="shuffle"):
    """Fingerprints of runs 0, 1, ... under one name."""
    return {
        index: {name: Fingerprint(name=name, digest=digest, first=digest, count=1, processes=1, ended=1)}
        for index, digest in enumerate(digests)
    }


def write_experiment(
    project, name, samples, variant="algo+impl", aggregate="last", failed=0, drawn=None, directed=True, cpu=None
):
    """Write an experiment with one record per metric and run; `samples` are values by metric."""
    import struct

    workspace = Workspace(project)
    workspace.prepare()
    folder = workspace.experiment(name)
    metrics = [
        Metric(
            name=metric, variable=metric, expression=metric, file="train.py", line=1, end_line=1, function="<module>",
            sink="print", kind="quality", direction=("lower" if "loss" in metric else "higher") if directed else None,
            aggregate=aggregate, confidence=1.0, why="", capture=Capture(how="value"),
        )
        for metric in samples
    ]  # fmt: skip
    runs = len(next(iter(samples.values())))
    planned = folder.read_experiment().planned if folder.experiment_file.exists() else {}
    folder.write_experiment(
        Experiment(
            name=name, command=["python", "train.py"], entry="train.py", metrics=metrics, main_loop=None, source="",
            seed=1, planned={**planned, variant: runs + failed}, created="2026-03-01T12:00:00",
        )
    )  # fmt: skip
    write_json(folder.snapshot_file, Snapshot(project=str(project), source="", items=[], digests={}))
    for index in range(runs + failed):
        run = folder.run(Run(variant=variant, index=index))
        run.path.mkdir(parents=True)
        events = [{"event": "start", "time": 10.0, "rank": None, "python": "3.11.7"}]
        events += [{"event": "environment", "cpu": cpu}] if cpu else []
        if drawn:
            common = {"event": "fingerprint", "name": "shuffle", "count": 1, "digest": drawn[index]}
            events += [{**common, "moment": moment} for moment in ("first", "end")]
        (run.path / "events-1-1.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        if index >= runs:
            run.write_outcome(Failed(seconds=1.0, exit_code=1, reason="exit status 1"))
            continue
        rows = [struct.pack("<iidd", key, 0, 0.5, values[index]) for key, values in enumerate(samples.values())]
        (run.path / "records-1-1.bin").write_bytes(b"".join(rows))
        run.write_outcome(Completed(seconds=2.0 + 0.01 * index))
    return folder
