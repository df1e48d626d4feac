"""The command of a run: words, program, PYTHONPATH."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.core.errors import CommandNotFound
from deviate.runs.environment import (
    INJECTED,
    Moved,
    changed,
    find_program,
    looks_isolated,
    map_paths,
    python_path,
    run_words,
    spellings,
)

MOVED = Moved(
    project=("/links/project", "/home/me/project"),
    copy="/home/me/project/.deviate/experiments/e/runs/control-0/work/project",
    kept=(".venv",),
)


@pytest.mark.parametrize(
    ("word", "mapped"),
    [
        ("/home/me/project/data", f"{MOVED.copy}/data"),
        ("/home/me/project", MOVED.copy),
        ("--out=/home/me/project/out", f"--out={MOVED.copy}/out"),
        ("/links/project/data", f"{MOVED.copy}/data"),
        ("a=/home/me/project/a,b=/links/project/b", f"a={MOVED.copy}/a,b={MOVED.copy}/b"),
        ("open('/home/me/project')", f"open('{MOVED.copy}')"),
        ("/home/me/project2/data", "/home/me/project2/data"),
        ("/mnt/home/me/project/data", "/mnt/home/me/project/data"),
        ("/home/me/project/.venv/bin/python", "/home/me/project/.venv/bin/python"),
        ("/home/me/project/.venv2/x", f"{MOVED.copy}/.venv2/x"),
        ("/home/me/project/.deviate/experiments/e/x", "/home/me/project/.deviate/experiments/e/x"),
        ("--data=/home/me/project/../data/x", "--data=/home/me/project/../data/x"),
        ("/home/me/project/src/../../data", "/home/me/project/src/../../data"),
        ("/home/me/project/src/../data", f"{MOVED.copy}/src/../data"),
        ("/home/me/project/..data", f"{MOVED.copy}/..data"),
        ("train.py", "train.py"),
        ("../data", "../data"),
    ],
)
def test_absolute_paths_into_the_project_lead_into_the_copy(word, mapped):
    assert map_paths(word, MOVED) == mapped


@given(st.text(max_size=30).filter(lambda text: "project" not in text))
def test_words_that_do_not_name_the_project_stay_as_they_are(word):
    assert map_paths(word, MOVED) == word


@given(st.lists(st.sampled_from(["/home/me/project", "/links/project", "/x", "=", ",", "a", "/home/me/project/.venv"])))
def test_mapping_twice_is_mapping_once(parts):
    once = map_paths("".join(parts), MOVED)
    assert map_paths(once, MOVED) == once


def test_the_runtime_comes_first_and_the_projects_folders_come_from_the_copy():
    value = os.pathsep.join(["/home/me/project/src", "/opt/lib", "src", "../beside", ""])
    assert python_path(value, Path("/home/me/project"), MOVED).split(os.pathsep) == [
        str(INJECTED), f"{MOVED.copy}/src", "/opt/lib", "src", "/home/me/beside", "",
    ]  # fmt: skip
    assert python_path(None, Path("/home/me/project"), MOVED) == str(INJECTED)


def test_the_injected_folder_is_where_the_runtime_is():
    assert (INJECTED / "sitecustomize.py").is_file()


def make_program(path, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_program_is_found_as_the_shell_would(tmp_path):
    tool = make_program(tmp_path / "bin" / "tool")
    local = make_program(tmp_path / ".venv" / "bin" / "python")
    assert find_program("tool", tmp_path, {"PATH": f"/nowhere:{tmp_path}/bin"}) == tool
    assert find_program("tool", tmp_path, {"PATH": "bin"}) == tool
    assert find_program(".venv/bin/python", tmp_path, {}) == local
    assert find_program(str(local), Path("/"), {}) == local


def test_an_environments_interpreter_is_not_followed_to_the_systems(tmp_path):
    link = tmp_path / ".venv" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(sys.executable)
    assert find_program(".venv/bin/python", tmp_path, {}) == link


def test_a_missing_program_is_a_message_with_what_to_type(tmp_path):
    with pytest.raises(CommandNotFound, match="command not found: pyhton"):
        find_program("pyhton", tmp_path, {"PATH": ""})
    with pytest.raises(CommandNotFound) as caught:
        find_program("python", tmp_path, {"PATH": "/nowhere"})
    assert sys.executable in caught.value.hint
    make_program(tmp_path / "train.py", mode=0o644)
    with pytest.raises(CommandNotFound, match="not executable") as caught:
        find_program("./train.py", tmp_path, {})
    assert "python ./train.py" in caught.value.hint


def test_a_program_inside_the_project_is_taken_from_the_copy_and_one_of_an_environment_is_not():
    words = run_words(["./run.sh", "-x"], Path("/home/me/project/run.sh"), MOVED)
    assert words == [f"{MOVED.copy}/run.sh", "-x"]
    assert run_words([".venv/bin/python"], Path("/home/me/project/.venv/bin/python"), MOVED) == [
        "/home/me/project/.venv/bin/python"
    ]


def test_the_users_way_to_the_project_is_a_spelling_of_it(tmp_path):
    real = tmp_path / "real" / "project"
    (real / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    logical = tmp_path / "link" / "project"
    assert set(spellings(real, ".", {"PWD": str(logical)})) == {str(real), str(logical)}
    assert set(spellings(real, "sub", {"PWD": str(logical / "sub")})) == {str(real), str(logical)}
    assert spellings(real, ".", {"PWD": "/"}) == (str(real),)


def test_only_differences_of_environments_are_told():
    assert changed({"A": "1", "B": "2", "C": "3"}, {"A": "1", "B": "4", "D": "5"}) == {"B": "4", "C": None, "D": "5"}


@pytest.mark.parametrize("words", [["python", "-I", "t.py"], ["python3", "-uE", "-m", "x"], ["/a/python", "-S", "t"]])
def test_an_isolated_python_is_known(words):
    assert looks_isolated(words)


@pytest.mark.parametrize("words", [["python", "t.py", "-I"], ["python", "-u", "t.py"], ["bash", "-E"], []])
def test_another_command_is_not(words):
    assert not looks_isolated(words)
