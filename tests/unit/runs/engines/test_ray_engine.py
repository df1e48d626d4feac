"""What Ray is asked for, and what is made of its answers; a stand-in for Ray starts its tasks in threads."""

import os
import sys
import textwrap
import threading
import time
import types

import pytest

from deviate.core.errors import BadOption, ClusterRefused, NoCluster
from deviate.core.experiment import Experiment
from deviate.runs.cluster import make_engine
from deviate.runs.engines import ray as module
from deviate.runs.engines import ray_driver, ray_link
from deviate.runs.engines.engine import JobState, Place
from deviate.runs.engines.ray import Ray, read_resources
from deviate.runs.engines.ray_driver import Driver
from deviate.runs.orders import Order, Submission, write_submission
from deviate.runs.request import ReplicateOptions, Request
from deviate.source.config import RayEntry
from deviate.store.folders import Workspace


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


class Task(threading.Thread):
    """A task, or an actor, that was asked for."""

    def __init__(self, kind, options, arguments):
        super().__init__(daemon=True)
        self.kind, self.options, self.arguments = kind, options, arguments
        self.result = self.error = None

    def run(self):
        try:
            self.result = self.kind(*self.arguments)
        except RayError as error:
            self.error = error


class Stub(types.SimpleNamespace):
    """As much of Ray as is used."""

    def __init__(self):
        self.asked, self.cancelled, self.killed, self.addresses = [], [], [], []
        self.room = {"CPU": 4.0}
        errors = types.SimpleNamespace(RayError=RayError, RayActorError=RayActorError)
        pickle = types.SimpleNamespace(register_pickle_by_value=lambda what: None)
        super().__init__(exceptions=errors, cloudpickle=pickle)

    def remote(self, kind):
        def ask(**options):
            def begin(*arguments):
                self.asked.append(Task(kind, options, arguments))
                self.asked[-1].start()
                return self.asked[-1]

            return types.SimpleNamespace(remote=begin)

        return types.SimpleNamespace(options=ask)

    def is_initialized(self):
        return False

    def init(self, address, **options):
        self.addresses.append(address)

    def get_runtime_context(self):
        return types.SimpleNamespace(current_actor="itself", get_task_id=lambda: "task7")

    def wait(self, tasks, timeout, num_returns=1):
        time.sleep(0.005)
        ended = [task for task in tasks if not task.is_alive()]
        return ended, [task for task in tasks if task not in ended]

    def get(self, task):
        if task.error:
            raise task.error
        return task.result

    def cancel(self, task):
        self.cancelled.append(task)

    def kill(self, actor):
        self.killed.append(actor)

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": 4.0}}, {"Alive": False, "Resources": {"GPU": 1.0}}]

    def available_resources(self):
        return self.room


@pytest.fixture
def ray(monkeypatch):
    stub = Stub()
    monkeypatch.setitem(sys.modules, "ray", stub)
    monkeypatch.setattr(ray_driver, "LINGER", 0.0)
    return stub


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


WANTS = {"num_cpus": 1, "num_gpus": 0.0, "resources": {}}


@pytest.fixture
def submission(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    folder = workspace.experiment("e")
    folder.path.mkdir(parents=True)
    runs = [folder.path / "runs" / f"algo-{index}" for index in range(2)]
    for run in runs:
        run.mkdir(parents=True)
    experiment = Experiment(name="e", command=["sh"], entry="", metrics=[], main_loop=None, source="", seed=7,
                            planned={"algo": 2}, created="")  # fmt: skip
    order = Order(experiment=experiment, overlay={}, step_overlays={}, options=ReplicateOptions(), executor="ray",
                  address="10.0.0.1:6379", threads=1, git=None)  # fmt: skip
    return write_submission(folder, order, folder.runs())


@pytest.mark.parametrize("gres", ["gpu", "gpu:0", "gpu:x", ":1", "gpu:inf", "gpu:nan"])
def test_resources_without_a_number_are_refused(gres):
    assert read_resources("gpu:1,tpu:0.5") == (1.0, {"tpu": 0.5})
    with pytest.raises(BadOption, match="gres"):
        read_resources(gres)


def test_the_script_asks_for_a_detached_actor_with_a_worker_for_each_run(submission, ray, monkeypatch):
    begun = []
    monkeypatch.setattr(ray_driver, "Driver", lambda *arguments: begun.append(arguments))
    engine = Ray(RayEntry(address="here", gres="gpu:1,tpu:2", cpus=3), 5)
    exec(compile(engine.script(submission), "submit.py", "exec"), {})
    workers, folder, wants, width, variables = begun[0]
    runs = [str(run.path) for run in submission.runs]
    assert workers == [[sys.executable, "-P", "-m", "deviate.runs.worker", "--tied", run] for run in runs]
    assert (folder, width) == (str(submission.folder), 5)
    assert wants == {"num_cpus": 3, "num_gpus": 1.0, "resources": {"tpu": 2.0}}
    asked = ray.asked[0].options
    assert (asked["name"], asked["lifetime"]) == (f"deviate-{submission.name}", "detached")
    assert (asked["max_restarts"], asked["num_cpus"]) == (0, 0)
    assert ray.addresses == ["here"]
    assert variables == ray_link.VARIABLES


def test_what_has_the_tasks_lives_on_the_head_node(ray, monkeypatch):
    assert ray_link._on_head() == {}
    head = {"Alive": True, "NodeID": "1f", "Resources": {ray_link.HEAD: 1.0}}
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "NodeID": "2f", "Resources": {}}, head])
    affinity = types.SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: (node, soft))
    monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", affinity)
    assert ray_link._on_head() == {"scheduling_strategy": ("1f", True)}


def test_a_driver_has_its_width_of_tasks_and_no_retries(ray, monkeypatch):
    free, seen = threading.Event(), []

    def work(driver, number, worker, folder, variables):
        seen.append(number)
        free.wait(10)
        if number == 2:
            raise RayError("its node is gone")
        return 3 if number == 1 else 0

    monkeypatch.setattr(ray_driver, "work", work)
    driver = Driver([["w"]] * 3, "folder", WANTS, 2, {})
    wait_for(lambda: len(seen) == 2)
    assert [word for word, _ in driver.states()] == ["PENDING"] * 3
    driver.began(0)
    assert driver.states()[0] == ("RUNNING", "")
    free.set()
    wait_for(lambda: ray.killed)
    # That it began may be heard late.
    driver.began(1)
    assert driver.states() == [("ENDED", ""), ("exit status 3", ""), ("RayError", "")]
    assert [task.options["max_retries"] for task in ray.asked] == [0, 0, 0]


def test_a_driver_that_is_cancelled_ends_its_tasks_and_starts_no_other(ray, monkeypatch):
    free = threading.Event()
    monkeypatch.setattr(ray_driver, "work", lambda *arguments: free.wait(10) and 0)
    driver = Driver([["w"]] * 3, "folder", WANTS, 1, {})
    wait_for(lambda: ray.asked)
    driver.cancel()
    wait_for(lambda: ray.cancelled)
    free.set()
    wait_for(lambda: ray.killed)
    assert (len(ray.asked), len(ray.cancelled)) == (1, 1)
    assert {word for word, _ in driver.states()} == {"ENDED"}


def test_why_tasks_wait_is_said(ray, monkeypatch):
    lack = ray_driver._lack
    assert lack({**WANTS, "num_gpus": 1.0}, whole=True) == "no node has 1 CPU and 1 GPU"
    ray.room = {"CPU": 0.5}
    assert lack(WANTS, whole=False) == "no node has 1 CPU left"
    # Ray may be starting a process on it.
    assert lack(WANTS, whole=True) == ""


@pytest.fixture
def driver():
    return types.SimpleNamespace(began=types.SimpleNamespace(remote=lambda number: None))


def test_a_worker_has_the_users_variables_and_its_devices(ray, driver, tmp_path, monkeypatch):
    variables = {"MINE": "1", "PATH": os.environ["PATH"]}
    monkeypatch.setenv("RAY_JOB_ID", "01")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setattr(ray_driver, "LOOK_EVERY", 0.01)
    assert ray_driver.work(driver, 0, ["env"], str(tmp_path), variables) == 0
    said = (tmp_path / "job-0.log").read_text().split()
    assert {"MINE=1", "CUDA_VISIBLE_DEVICES=3", "DEVIATE_JOB=task7"} <= set(said)
    assert not any(line.startswith("RAY_") for line in said)
    # One that is killed is followed by another, which ends what it left.
    assert ray_driver.work(driver, 1, ["sh", "-c", "echo x; kill -9 $$"], str(tmp_path), variables) == 128 + 9
    assert (tmp_path / "job-1.log").read_text().count("x") == ray_driver.MOST_STARTS
    assert ray_driver.work(driver, 2, ["sh", "-c", "echo x; exit 2"], str(tmp_path), variables) == 2
    assert (tmp_path / "job-2.log").read_text() == "x\n"


def test_a_task_that_is_ended_ends_the_standard_input_of_its_worker(ray, driver, tmp_path, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(ray_driver.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ray_driver.work(driver, 0, ["sh", "-c", "cat; echo over"], str(tmp_path), dict(os.environ))
    assert (tmp_path / "job-0.log").read_text() == "over\n"


#: A Ray that a process of its own imports.
PACKAGE = """
import os, types
exceptions = types.SimpleNamespace(RayActorError=type("RayActorError", (Exception,), {}))
def is_initialized(): return False
def init(address, **options):
    if address != "here": raise ConnectionError("no such place\\nmore")
class Asked:
    def remote(self): print("noise"); return self
class Actor: states = Asked()
def get_actor(name): return Actor()
util = types.SimpleNamespace(list_named_actors=lambda: ["other", "deviate-1f"])
def wait(tasks, num_returns, timeout): return tasks, []
def get(task):
    if os.path.exists(os.environ["GONE"]): os._exit(1)
    return [("RUNNING", ""), ("PENDING", "no node has 1 GPU"), ("ENDED", "")]
"""


def test_states_are_asked_of_a_process_that_may_end(tmp_path, monkeypatch, submission):
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text(textwrap.dedent(PACKAGE))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("GONE", str(tmp_path / "gone"))
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: True)
    engine = Ray(RayEntry(address="here"), None)
    engine.check()
    states = {
        Place("1f", 0): JobState("RUNNING", True),
        Place("1f", 1): JobState("PENDING", True, "no node has 1 GPU"),
        Place("1f", 2): JobState("ENDED", False),
    }
    assert engine.states() == states
    (tmp_path / "gone").touch()
    assert engine.states() is None
    (tmp_path / "gone").unlink()
    assert engine.states() == states
    with pytest.raises(ClusterRefused, match="cloudpickle"):
        engine.submit(submission)
    with pytest.raises(NoCluster, match=r"no such place$") as refused:
        Ray(RayEntry(address="there"), None).check()
    assert "ray start --head" in refused.value.hint


def test_without_the_package_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoCluster) as raised:
        Ray(RayEntry(), None).check()
    assert "pip install ray" in raised.value.hint


def test_what_was_handed_to_a_cluster_is_followed_there(submission, tmp_path, monkeypatch):
    folder = Workspace(tmp_path).experiment("e")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.2:6379")
    request = Request(command=["sh"])
    assert make_engine(request, folder).address == "10.0.0.1:6379"
    assert make_engine(Request(command=["sh"], executor="ray", address="other:1"), folder).address == "other:1"
    Submission(submission.folder, submission.runs).withdraw()
    assert make_engine(request, folder) is None
    assert make_engine(Request(command=["sh"], executor="ray"), folder).address == "10.0.0.2:6379"
    (tmp_path / "deviate.toml").write_text('[ray]\naddress = "10.0.0.3:6379"\ncpus = 2\ngres = "gpu:1"\n')
    engine = make_engine(Request(command=["sh"], executor="ray", cpus=4), folder)
    assert (engine.address, engine.threads) == ("10.0.0.3:6379", 4)
