"""``deviate mcp`` as the official client of the protocol sees it, a friendly one and one that tries what it may not."""

import asyncio
import sys

import pytest
from cli_tool import TRAIN, deviate, tree
from mcp import Client, StdioServerParameters, stdio_client

pytestmark = pytest.mark.slow

PYTHON = sys.executable


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "train"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (tmp_path / "outside.py").write_text(TRAIN)
    (folder / "linked.py").symlink_to(tmp_path / "outside.py")
    monkeypatch.chdir(folder)
    return folder


def call(calls, *begins):
    """Call tools of one server, one after the other; return the results and what was said on the way."""
    told = []

    async def listen(progress, total, message):
        told.append(message)

    async def talk():
        server = StdioServerParameters(command=PYTHON, args=["-m", "deviate", "mcp", *begins])
        async with Client(stdio_client(server)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, [await client.call_tool(*each, progress_callback=listen) for each in calls]

    names, results = asyncio.run(talk())
    assert names == ["run", "baseline", "judge", "compare", "report", "diverge", "list"]
    return results, told


def test_a_client_gets_what_the_commands_print_as_json(project):
    training = [PYTHON, "train.py"]
    results, told = call(
        [
            ("list", {}),
            ("run", {"command": training, "runs": 2}),
            ("run", {"command": [*training, "4"], "runs": 2, "name": "longer"}),
            ("report", {"experiment": "train"}),
            ("compare", {"experiments": ["train", "longer"], "metrics": ["test accuracy"]}),
            ("baseline", {"values": [0.97, 0.96, None, 0.98], "metric": "val acc"}),
            ("judge", {"values": [0.9]}),
            ("list", {}),
        ]
    )
    assert not any(result.is_error for result in results)
    empty, ran, _, report, compared, floor, judged, listed = (result.structured_content for result in results)
    assert (empty["experiments"], [each["name"] for each in listed["experiments"]]) == ([], ["longer", "train"])
    assert any(text.startswith("2 of 2 done") for text in told)
    assert results[1].content[0].text.startswith("test accuracy  ")
    printed = deviate("report", "train", "--json").json
    assert {**report, "generated": ""} == {**printed, "generated": ""}
    assert {**ran, "generated": ""} == {**printed, "generated": ""}
    assert [each["name_a"] for each in compared["metrics"]] == ["test accuracy"]
    assert (floor["values"], judged["decision"]) == ([0.97, 0.96, None, 0.98], "discard")


HOSTILE = [
    ("run", {"command": [PYTHON, "../outside.py"]}, "bad-option"),
    ("run", {"command": [PYTHON, "linked.py"]}, "bad-option"),
    ("run", {"command": ["/usr/bin/env", PYTHON, "train.py"]}, "bad-option"),
    ("run", {"command": ["bash", "-c", "touch ../evil; python train.py"]}, "bad-option"),
    ("run", {"command": ["touch", "../evil"]}, "bad-option"),
    ("run", {"command": ["python train.py; touch ../evil"]}, "bad-option"),
    ("run", {"command": [PYTHON, "-c", "open('../evil', 'w')"]}, "bad-option"),
    ("run", {"command": [PYTHON, "-m", "torch.distributed.run", "--no-python", "touch", "../evil"]}, "bad-option"),
    ("run", {"command": "python train.py"}, "bad-option"),
    ("run", {"command": []}, "bad-option"),
    ("run", {"command": ["--name", "x"]}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py"], "name": "../evil"}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py"], "name": "--force"}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py"], "project": "/"}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py"], "runs": -1}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py"], "until": "decided against ../../etc"}, "unknown-experiment"),
    ("judge", {"experiment": "$(touch ../evil)"}, "unknown-experiment"),
    ("baseline", {"experiment": "base", "command": [PYTHON, "train.py"]}, "unknown-experiment"),
    ("report", {"experiment": "../../evil"}, "unknown-experiment"),
    ("report", {"experiment": "--output=../evil"}, "unknown-experiment"),
    ("compare", {"experiments": ["-o", "../evil"]}, "unknown-experiment"),
    ("diverge", {"experiment": "../train", "pair": [0, 1]}, "unknown-experiment"),
    ("diverge", {"command": ["sh", "../x.sh"]}, "bad-option"),
    ("prune", {}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py\0; touch ../evil"]}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py", "\0"]}, "bad-option"),
    ("run", {"command": [PYTHON, "-i", "train.py"]}, "bad-option"),
    ("run", {"command": [PYTHON, "/dev/stdin"]}, "bad-option"),
    ("run", {"command": [PYTHON, "~/train.py"]}, "bad-option"),
    ("run", {"command": ["PYTHONSTARTUP=../outside.py", PYTHON, "train.py"]}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py"], "runs": 10**30}, "bad-option"),
    ("run", {"command": [PYTHON, "train.py"], "vary": ["--output=../evil"]}, "bad-option"),
    ("run", {"runs": 2}, "bad-option"),
    ("judge", {"values": ["nan"]}, "bad-option"),
    ("baseline", {"values": [1.0], "better": "lower; touch ../evil"}, "bad-option"),
    ("report", {"experiment": "a\0b"}, "unknown-experiment"),
    ("report", {"experiment": "x" * 100_000}, "unknown-experiment"),
    ("diverge", {"experiment": "train", "command": [PYTHON, "train.py"]}, "bad-option"),
    ("diverge", {"experiment": "train", "pair": [0]}, "bad-option"),
    ("list", {"folder": "/"}, "bad-option"),
]


def test_a_hostile_client_gets_errors_and_writes_nothing(project):
    before = tree(project.parent)
    results, _ = call([each[:2] for each in HOSTILE])
    for result, (tool, arguments, slug) in zip(results, HOSTILE, strict=True):
        assert (result.is_error, result.structured_content["slug"]) == (True, slug), (tool, arguments)
        assert result.structured_content["hint"], (tool, arguments)
        assert result.content[0].text.isprintable() or "\n" in result.content[0].text
    assert tree(project.parent) == before


def test_a_server_that_is_started_for_one_command_trains_no_other(project):
    begins = [PYTHON, "train.py", "4"]
    results, _ = call(
        [("run", {"command": [PYTHON, "train.py"]}), ("run", {"command": begins, "runs": 1})], "--", *begins
    )
    assert [result.is_error for result in results] == [True, False]
    assert results[1].structured_content["command"][1:] == ["train.py", "4"]
