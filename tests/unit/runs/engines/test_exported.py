"""What is printed for Kubernetes and SkyPilot is what their documentation asks for."""

import os

import pytest
import yaml

from deviate.core.errors import BadOption
from deviate.core.experiment import Run
from deviate.runs.cluster import make_printer
from deviate.runs.engines.printed import Kubernetes, Sky, read_devices
from deviate.runs.orders import Submission
from deviate.runs.request import Request, check_request
from deviate.source.config import ExportEntry
from deviate.store.folders import Workspace

#: Fields of batch/v1 and v1 that a manifest may have, with their types, from the reference of Kubernetes 1.34.
SPEC = {"completionMode": str, "completions": int, "parallelism": int, "backoffLimitPerIndex": int, "template": dict}
POD = {"restartPolicy": str, "securityContext": dict, "containers": list, "volumes": list}
CONTAINER = {"name": str, "image": str, "command": list, "env": list, "resources": dict, "volumeMounts": list}

WISH = {"command": ["python", "t.py"], "container": "lab/train:1", "print_script": True}


@pytest.fixture
def submission(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.prepare()
    folder = workspace.experiment("e")
    return Submission(
        folder.submissions / "1f", [folder.run(Run(variant="algo+impl", index=each)) for each in range(3)]
    )


def printed(executor, project, **wishes):
    folder = Workspace(project).experiment("e")
    return make_printer(Request(**WISH, executor=executor, **wishes), folder)


def checked(value, fields):
    """Return an object of the manifest after a look at its fields."""
    assert {name: type(field) for name, field in value.items()} == fields
    return value


def test_a_manifest_has_the_fields_of_an_indexed_job(submission, tmp_path):
    manifest = yaml.safe_load(printed("kubernetes", tmp_path, gres="gpu:2", cpus=4, jobs=2).script(submission))
    assert (manifest["apiVersion"], manifest["kind"]) == ("batch/v1", "Job")
    assert manifest["metadata"] == {"name": "deviate-1f"}
    spec = checked(manifest["spec"], SPEC)
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 2)
    pod = checked(spec["template"]["spec"], POD)
    # Retries per index are allowed where pods are not restarted, and none is made.
    assert (pod["restartPolicy"], spec["backoffLimitPerIndex"]) == ("Never", 0)
    assert pod["securityContext"] == {"runAsUser": os.getuid(), "runAsGroup": os.getgid()}
    (container,) = pod["containers"]
    checked(container, CONTAINER)
    assert container["image"] == "lab/train:1"
    assert container["resources"] == {"limits": {"cpu": "4", "nvidia.com/gpu": "2"}}
    assert all(isinstance(word, str) for word in container["command"])
    (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
    assert mount == {"name": volume["name"], "mountPath": str(tmp_path)}
    assert volume["hostPath"] == {"path": str(tmp_path)}


def test_a_claim_is_mounted_where_the_project_is(submission, tmp_path):
    (tmp_path / "deviate.toml").write_text(f'[kubernetes]\nvolume = "lab"\nmount = "{tmp_path.parent}"\nwidth = 9\n')
    spec = yaml.safe_load(printed("kubernetes", tmp_path).script(submission))["spec"]
    pod = spec["template"]["spec"]
    assert spec["parallelism"] == 3
    assert pod["volumes"] == [{"name": "project", "persistentVolumeClaim": {"claimName": "lab"}}]
    assert pod["containers"][0]["volumeMounts"] == [{"name": "project", "mountPath": str(tmp_path.parent)}]
    (tmp_path / "deviate.toml").write_text('[kubernetes]\nvolume = "lab"\nmount = "/elsewhere"\n')
    with pytest.raises(BadOption, match="mount under"):
        printed("kubernetes", tmp_path)


def test_runs_are_made_on_a_disk_of_the_pod(submission, tmp_path):
    printer = printed("kubernetes", tmp_path, scratch="/scratch")
    pod = yaml.safe_load(printer.script(submission))["spec"]["template"]["spec"]
    assert pod["volumes"] == [
        {"name": "project", "hostPath": {"path": str(tmp_path)}},
        {"name": "scratch", "emptyDir": {}},
    ]
    assert pod["containers"][0]["volumeMounts"] == [
        {"name": "project", "mountPath": str(tmp_path)},
        {"name": "scratch", "mountPath": "/scratch"},
    ]
    assert printer.scratch == "/scratch"


def test_runs_are_made_on_a_disk_of_a_machine_of_skypilot(submission, tmp_path):
    (tmp_path / "deviate.toml").write_text('[sky]\nscratch = "/fast disk"\n')
    printer = printed("sky", tmp_path)
    assert yaml.safe_load(printer.script(submission))["run"].startswith("mkdir -p '/fast disk' || true\nruns=(\n")
    assert printer.scratch == "/fast disk"


@pytest.mark.parametrize("executor", ["kubernetes", "sky"])
def test_a_disk_lies_beside_the_project(executor, tmp_path):
    for scratch in ("/", str(tmp_path.parent), str(tmp_path / "scratch"), "$TMPDIR", "/scratch/$USER"):
        with pytest.raises(BadOption, match="nor above it"):
            printed(executor, tmp_path, scratch=scratch)
    (tmp_path / "deviate.toml").write_text(f'[{executor}]\nscratch = "here"\n')
    with pytest.raises(BadOption, match="must be an absolute path without variables"):
        printed(executor, tmp_path)


def test_what_looks_like_a_variable_of_kubernetes_stays_as_it_is(tmp_path):
    submission = Submission(
        tmp_path, [Workspace(tmp_path / "$(HOME)").experiment("e").run(Run(variant="algo", index=0))]
    )
    script = Kubernetes(ExportEntry(), "image", None, tmp_path).script(submission)
    assert "/$$(HOME)/" in yaml.safe_load(script)["spec"]["template"]["spec"]["containers"][0]["command"][3]


def test_a_task_has_the_fields_of_skypilot(submission, tmp_path):
    (tmp_path / "deviate.toml").write_text('[sky]\nvolume = "lab"\n')
    task = yaml.safe_load(printed("sky", tmp_path, gres="A100:1", cpus=4, jobs=2).script(submission))
    run = task.pop("run")
    assert task == {
        "name": "deviate-1f",
        "num_nodes": 2,
        "resources": {"image_id": "docker:lab/train:1", "cpus": "4+", "accelerators": "A100:1"},
        "volumes": {str(tmp_path): "lab"},
    }
    assert "deviate-worker" in run
    alone = yaml.safe_load(Sky(ExportEntry(), "image", None).script(submission))
    assert (alone["num_nodes"], "volumes" in alone) == (1, False)


@pytest.mark.parametrize("gres", ["gpu", "a100:1", "gpu:0.5", "gpu:0", ":1"])
def test_resources_that_kubernetes_does_not_have_are_refused(gres):
    with pytest.raises(BadOption, match="--gres"):
        read_devices(gres)


def test_skypilot_is_given_the_name_of_an_accelerator(tmp_path):
    with pytest.raises(BadOption, match="accelerator"):
        printed("sky", tmp_path, gres="gpu:1")


@pytest.mark.parametrize("executor", ["kubernetes", "sky"])
def test_what_is_only_printed_says_so(executor, tmp_path):
    check_request(Request(**WISH, executor=executor))
    with pytest.raises(BadOption, match="prints jobs, and starts none") as raised:
        check_request(Request(**{**WISH, "print_script": False}, executor=executor))
    assert "--print" in raised.value.hint
    with pytest.raises(BadOption, match="image"):
        check_request(Request(**{**WISH, "container": None}, executor=executor))
