"""What runs of a project start without is said in their report."""

from deviate.core.experiment import Experiment
from deviate.facts.stored import read_results
from deviate.runs.snapshot.manifest import Snapshot
from deviate.runs.snapshot.surroundings import Outside
from deviate.runs.snapshot.survey import CHECKPOINT, Item
from deviate.store.files import write_json
from deviate.store.folders import Workspace


def noted(project, items=(), outside=()):
    workspace = Workspace(project)
    workspace.prepare()
    folder = workspace.experiment("e")
    folder.write_experiment(
        Experiment(
            name="e", command=["python"], entry="train.py", metrics=[], main_loop=None, source="", seed=1,
            planned={"control": 2}, created="",
        )
    )  # fmt: skip
    taken = Snapshot(project=str(project), source="", items=list(items), digests={}, outside=list(outside))
    write_json(folder.snapshot_file, taken)
    return [note.message for note in read_results(folder).notes if note.slug == "left-out"]


def test_checkpoints_and_what_looks_like_results_beside_the_project_are_named(tmp_path):
    items = [Item(path="best.pt", kind="left out", reason=CHECKPOINT), Item(path=".venv", kind="left out", reason="x")]
    outside = [
        Outside(path="../out", target="/out", linked=False, reason="results"),
        Outside(path="../data", target="/data"),
    ]
    assert noted(tmp_path, items, outside) == [
        f"Left out of the runs: best.pt ({CHECKPOINT}), ../out (looks like results outside the project). --set "
        "include=PATH brings it."
    ]


def test_what_else_is_left_out_needs_no_word(tmp_path):
    assert noted(tmp_path, [Item(path=".venv", kind="left out", reason="x")]) == []
