"""An experiment remembers where its runs are made, and a command that does not say where goes on there."""

import msgspec
import pytest

from deviate.core.errors import BadOption, UnknownExperiment
from deviate.core.experiment import Experiment, Placement
from deviate.runs.cluster import Engines, make_engine
from deviate.runs.pipeline import BEFORE, FILE, place
from deviate.runs.request import Request, check_cluster
from deviate.store.files import write_json
from deviate.store.folders import Workspace

SLURM = Placement(executor="slurm", partition="long", cpus=2, jobs=4)


@pytest.fixture
def workspace(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    return workspace


def stored(workspace, name, placement):
    folder = workspace.experiment(name)
    folder.path.mkdir(parents=True)
    folder.write_experiment(
        Experiment(name=name, command=["sh"], entry="", metrics=[], main_loop=None, source="", seed=0,
                   planned={"control": 1}, created="", placement=placement)
    )  # fmt: skip
    return folder


def asked(**options):
    return Request(command=["sh"], **options)


def test_what_is_not_typed_is_as_it_was_last(workspace):
    folder = stored(workspace, "e", SLURM)
    placed = place(asked(cpus=None), folder)
    chosen = (placed.request.executor, placed.request.partition, placed.request.cpus, placed.request.jobs)
    assert (chosen, placed.placement, placed.by) == (("slurm", "long", 2, 4), SLURM, BEFORE)
    assert place(asked(jobs=1), folder).placement == msgspec.structs.replace(SLURM, jobs=1)


def test_what_is_typed_replaces_all_of_it(workspace):
    folder = stored(workspace, "e", SLURM)
    assert place(asked(executor="slurm"), folder).placement == Placement(executor="slurm")
    here = place(asked(executor="local", jobs=3), folder)
    assert (here.placement, here.request.partition, here.by) == (Placement(executor="local"), None, "")


def test_a_new_cell_is_made_where_the_latest_one_was(workspace):
    stored(workspace, "g@lr=1", Placement(executor="ray", address="there:1"))
    stored(workspace, "other", SLURM)
    assert place(asked(), workspace.experiment("g@lr=2")).request.address == "there:1"
    assert place(asked(), workspace.experiment("g")).placement is None


def test_a_grid_is_no_experiment_and_its_cells_are_named(workspace):
    stored(workspace, "g@lr=1", None)
    with pytest.raises(UnknownExperiment) as raised:
        workspace.find_experiment("g")
    assert raised.value.hint == "deviate compare g, or one of its cells: g@lr=1"


def test_the_file_says_it_of_new_experiments(workspace):
    (workspace.project / "deviate.toml").write_text('executor = "slurm"\n[slurm]\ncpus = 2\n')
    placed = place(asked(), workspace.experiment("e"))
    assert (placed.request.executor, placed.by) == ("slurm", FILE)
    here = place(asked(), stored(workspace, "here", Placement(executor="local")))
    assert (here.request.executor, here.by) == ("local", BEFORE)


def test_an_option_of_this_machine_is_refused_elsewhere(workspace):
    with pytest.raises(BadOption, match="warm is for runs on this machine"):
        place(asked(warm=True), stored(workspace, "e", SLURM))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scratch": "/s"}, "scratch is for runs on a cluster"),
        ({"scratch": "here", "executor": "slurm"}, "scratch must be an absolute path"),
    ],
)
def test_a_disk_is_named_for_machines_of_a_cluster(options, said):
    with pytest.raises(BadOption, match=said):
        check_cluster(asked(**options))
    check_cluster(asked(scratch="$TMPDIR/runs", executor="ray"))


def test_the_disk_is_remembered_and_the_file_names_one(workspace):
    (workspace.project / "deviate.toml").write_text('[slurm]\nscratch = "/file"\n')
    folder = stored(workspace, "e", msgspec.structs.replace(SLURM, scratch="/typed"))
    assert make_engine(place(asked(), folder).request, folder).scratch == "/typed"
    assert make_engine(asked(executor="slurm"), folder).scratch == "/file"
    assert make_engine(asked(executor="slurm", scratch=""), folder).scratch == ""


def test_cells_that_want_the_same_of_a_cluster_share_its_engine(workspace):
    folder, engines = stored(workspace, "e", None), Engines()
    first = engines.known(asked(executor="slurm", cpus=2), folder)
    assert engines.known(asked(executor="slurm", cpus=2), folder) is first
    assert engines.known(asked(executor="slurm", cpus=4), folder) is not first
    assert engines.known(asked(executor="local"), folder) is None


def test_an_experiment_of_an_earlier_version_is_read(workspace):
    folder = stored(workspace, "e", None)
    old = msgspec.to_builtins(folder.read_experiment())
    names = list(old)
    assert names[names.index("scripts") + 1 :] == ["placement", "stdin"]
    write_json(folder.experiment_file, {key: value for key, value in old.items() if key != "placement"})
    assert place(asked(), folder) == (asked(), None, "")
