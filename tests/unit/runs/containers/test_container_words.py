"""Command lines of container engines, word for word: none of them is tried with a real engine."""

import os
from pathlib import Path

import pytest

from deviate.core.errors import BadOption, NoContainer
from deviate.runs import containers as words
from deviate.runs.containers import (
    Container,
    ContainerWish,
    Inside,
    check_wish,
    container_command,
    find_container,
    without_doubles,
)
from deviate.runs.environment import INJECTED

ENVIRONMENT = {
    **{"PATH": "/bin", "HOME": "/home/me", "DOCKER_HOST": "unix:///x", "LD_LIBRARY_PATH": "/usr/lib", "A-B": "no name"},
    **{"PYTHONPATH": f"{INJECTED}:lib", "DEVIATE_RUNTIME": "/p/runs/a-0/runtime.json", "WANDB_API_KEY": "secret"},
}
INSIDE = Inside(
    ["python", "train.py", "--lr=0.1"], ENVIRONMENT, Path("/p/runs/a-0/work/p"),
    ["/p/runs/a-0", "/data,old", "/p/runs/a-0/work"], (2, 3), has_gpus=True,
)  # fmt: skip

COMMON = (
    "--network host --ipc host --security-opt label=disable --workdir /p/runs/a-0/work/p "
    f"--mount type=bind,source={INJECTED},target={INJECTED},readonly "
    '--mount type=bind,"source=/data,old","target=/data,old" '
    "--mount type=bind,source=/more,target=/more "
    "--mount type=bind,source=/p/runs/a-0,target=/p/runs/a-0 "
    "--env DEVIATE_RUNTIME --env PYTHONPATH --env WANDB_API_KEY --env HOME=/tmp --shm-size=1g "
    "--entrypoint python sha256:1 train.py --lr=0.1"
)

LINES = {
    ("docker", 1000): f"/bin/docker run --rm --init --cpuset-cpus 2,3 --gpus all --user 1000:100 {COMMON}",
    ("podman", 1000): "/bin/podman run --rm --userns keep-id --device nvidia.com/gpu=all --user 1000:100 " + COMMON,
    ("podman", 0): f"/bin/podman run --rm --device nvidia.com/gpu=all --user 0:100 {COMMON}",
    ("apptainer", 1000): "/bin/apptainer exec --cleanenv --nv --pwd /p/runs/a-0/work/p "
    f"--mount type=bind,source={INJECTED},target={INJECTED},ro "
    '--mount type=bind,"source=/data,old","target=/data,old" '
    "--mount type=bind,source=/more,target=/more "
    "--mount type=bind,source=/p/runs/a-0,target=/p/runs/a-0 --shm-size=1g image.sif python train.py --lr=0.1",
}


def container(engine):
    return Container(engine, f"/bin/{engine}", "image.sif", "sha256:1", ("/more",), ("--shm-size=1g",))


@pytest.mark.parametrize(("engine", "uid"), LINES)
def test_the_command_line_of_each_engine(monkeypatch, engine, uid):
    monkeypatch.setattr(words.os, "getuid", lambda: uid)
    monkeypatch.setattr(words.os, "getgid", lambda: 100)
    argv, environment = container_command(container(engine), INSIDE)
    assert argv == LINES[engine, uid].split(" ")
    assert not any("secret" in word for word in argv)
    assert without_doubles(environment) == ENVIRONMENT
    doubled = {name.removeprefix("APPTAINERENV_") for name in environment.keys() - ENVIRONMENT.keys()}
    expected = {"DEVIATE_RUNTIME", "PYTHONPATH", "WANDB_API_KEY", "PYTHONNOUSERSITE"}
    assert doubled == (expected if engine == "apptainer" else set())


@pytest.mark.parametrize("engine", ["docker", "podman", "apptainer"])
def test_what_is_not_there_is_not_asked_for(engine):
    argv, _ = container_command(container(engine), INSIDE._replace(cores=None, has_gpus=False))
    assert not {"--gpus", "--device", "--nv", "--cpuset-cpus"} & set(argv)


@pytest.fixture
def path(tmp_path):
    """Return what makes engines: scripts that do what `script` says."""

    def make(*engines, script="echo sha256:abc"):
        for engine in engines:
            (tmp_path / engine).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / engine).chmod(0o755)
        return {"PATH": str(tmp_path)}

    return make


def found(wish, environment, folder="/"):
    made = find_container(ContainerWish(image=wish), environment, Path(folder))
    return made.engine, made.image, made.identity


def test_the_engine_is_the_first_one_there_or_the_one_named(path):
    both = path("podman", "apptainer")
    assert found("python:3.12", both) == ("podman", "python:3.12", "sha256:abc")
    assert found("apptainer://python:3.12", both) == ("apptainer", "docker://python:3.12", "")
    assert found("apptainer://oras://x/y", both) == ("apptainer", "oras://x/y", "")
    wish = ContainerWish(image="python:3.12", engine="apptainer")
    assert find_container(wish, both, Path("/")).engine == "apptainer"


def test_an_image_file_is_known_by_its_content(path, tmp_path):
    (tmp_path / "my.sif").write_bytes(b"image")
    engine, image, identity = found("my.sif", path("apptainer"), tmp_path)
    assert (engine, image, len(identity)) == ("apptainer", str(tmp_path / "my.sif"), len("sha256:") + 64)


def test_an_image_that_is_not_there_is_fetched(path, tmp_path):
    script = f'echo "$1 $2" >> {tmp_path}/asked; [ "$1" = pull ] && exec touch {tmp_path}/there\n'
    script += f"[ -e {tmp_path}/there ] && echo 0123"
    assert found("fetched", path("podman", script=script)) == ("podman", "fetched", "0123")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["image inspect", "pull fetched", "image inspect"]


@pytest.mark.parametrize(
    ("wish", "engines", "message"),
    [("x", (), "no container engine is on PATH"), ("docker://x", ("podman",), "docker is not on PATH"),
     ("x.sif", ("apptainer",), "there is no image"), ("lost", ("docker",), "docker has no image 'lost'")],
)  # fmt: skip
def test_what_is_not_there_is_an_error_with_a_hint(path, wish, engines, message):
    with pytest.raises(NoContainer, match=message) as raised:
        found(wish, path(*engines, script="exit 1"))
    assert raised.value.hint
    assert wish != "docker://x" or "--set container=podman://x" in raised.value.hint


@pytest.mark.parametrize(
    "wish", [{"image": ""}, {"image": "docker://"}, {"image": "--privileged"}, {"image": "x", "engine": "lxc"},
             {"image": "x", "mount": ("data",)}]
)  # fmt: skip
def test_what_cannot_be_is_refused(wish):
    with pytest.raises(BadOption):
        check_wish(ContainerWish(**wish))


def test_this_user_stays_this_user():
    assert f"{os.getuid()}:{os.getgid()}" in container_command(container("docker"), INSIDE).argv
