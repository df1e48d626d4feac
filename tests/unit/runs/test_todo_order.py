"""What is to be made is counted in the order in which the experiment lists its variants."""

from deviate.core.experiment import Experiment
from deviate.core.factors import GROUPS
from deviate.runs.prepare import Source
from deviate.runs.request import ReplicateOptions
from deviate.runs.snapshot.manifest import describe, read_snapshot, take
from deviate.runs.todo import Todo
from deviate.store.folders import Workspace


def test_variants_are_counted_in_their_order_whatever_that_of_the_runs(tmp_path):
    (tmp_path / "train.py").write_text("")
    workspace = Workspace(tmp_path)
    workspace.prepare()
    folder = workspace.experiment("e")
    take(describe(tmp_path), folder)
    planned = dict.fromkeys(GROUPS["sources"], 2)
    experiment = Experiment(name="e", command=["true"], entry="train.py", metrics=[], main_loop=None, source="", seed=0,
                            planned=planned, created="")  # fmt: skip
    source = Source(experiment=experiment, folder=folder, snapshot=read_snapshot(folder), overlay={}, environment={},
                    program=folder.path, executor="local", jobs=1)  # fmt: skip
    todo = Todo(source, ReplicateOptions(), lambda run: run)
    todo.find()
    assert list(todo.planned.items()) == list(planned.items())
    assert list(dict.fromkeys(job.run.variant for job in todo.jobs)) != list(planned)
