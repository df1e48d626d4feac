"""How many runs share a machine and its GPUs, as the options say."""

import pytest
from msgspec import structs

from deviate.core.errors import BadOption
from deviate.runs.experiment import make_slots
from deviate.runs.hardware import Gpus
from deviate.runs.request import Request, check_request, option_words
from deviate.store.folders import ExperimentFolder

TWO = {"CUDA_VISIBLE_DEVICES": "0,GPU-b"}
BOTH = Gpus(("0", "GPU-b"))
REQUEST = Request(command=["python", "t.py"])


@pytest.mark.parametrize(
    ("wish", "jobs", "gpus", "per_gpu"),
    [({}, 1, None, 1), ({"jobs": 3}, 3, None, 1), ({"gpus": "all"}, 2, BOTH, 1), ({"gpus": "1"}, 1, Gpus(("0",)), 1),
     ({"per_gpu": 3}, 6, BOTH, 3), ({"gpus": "GPU-b", "per_gpu": 2}, 2, Gpus(("GPU-b",)), 2),
     ({"gpus": "2", "jobs": 1}, 1, BOTH, 1), ({"gpus": "2", "per_gpu": 4, "jobs": 3}, 3, BOTH, 2)],
)  # fmt: skip
def test_gpus_and_runs_on_each_make_the_slots(tmp_path, wish, jobs, gpus, per_gpu):
    slots = make_slots(structs.replace(REQUEST, **wish), ExperimentFolder(tmp_path), TWO)
    assert (slots.jobs, slots.gpus, slots.per_gpu) == (jobs, gpus, per_gpu)


def test_more_runs_than_gpus_have_room_for_are_refused(tmp_path):
    with pytest.raises(BadOption, match="-j 5 is more than 2 GPUs") as raised:
        make_slots(structs.replace(REQUEST, gpus="2", jobs=5), ExperimentFolder(tmp_path), TWO)
    assert "--set per_gpu=3" in raised.value.hint


@pytest.mark.parametrize("wish", [{"gpus": "all"}, {"per_gpu": 1}])
def test_gpus_are_shared_out_on_this_machine_alone(wish):
    with pytest.raises(BadOption, match="this machine"):
        check_request(structs.replace(REQUEST, executor="slurm", **wish))
    check_request(structs.replace(REQUEST, **wish))


def test_a_gpu_has_at_least_one_run():
    with pytest.raises(BadOption, match="per_gpu must be"):
        check_request(structs.replace(REQUEST, per_gpu=0))


def test_the_options_are_kept():
    assert option_words(structs.replace(REQUEST, gpus="0,1", per_gpu=2)) == ["--gpus", "0,1", "--set", "per_gpu=2"]
