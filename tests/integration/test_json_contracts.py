"""The page of the JSON contracts lists what the commands print, and every object says its schema.

After an intended change of a contract: ``DEVIATE_DOCS=write pytest tests/integration/test_json_contracts.py``.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_tool import PREDICT, TRAIN, deviate

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "json-contracts.md"
KEYS = re.compile(r"(?<=<!-- keys -->\n).*(?=<!-- end of keys -->)", re.S)

#: Objects whose keys are data.
KEYED_BY_DATA = {
    "completed",
    "settings",
    "data_files",
    "environment",
    "files",
    "fingerprints",
    "including_weak",
    "labels",
    "planned",
    "predicted",
    "rates",
    "seeds",
    "sources",
    "variables",
    "inherited",
    "withheld",
}

#: A grid of two numbers of epochs.
GRID = f"""\
[[experiment]]
name = "grid"
command = "{sys.executable} train.py {{epochs}}"
n = 2
[experiment.grid]
epochs = [2, 3]
"""

RESULTS = """\
seed,val acc
0,90.1
1,90.4
2,89.9
3,90.2
4,90.6
"""

TRAINED = ["run", "-n", "3", "--predictions", "preds.csv", "--name"]
CHECKED = ["check", "trained", "--against", "other", "--metric", "test accuracy"]

COMMANDS = {
    "deviate run": [*TRAINED, "trained", "--json", "--", sys.executable, "predict.py"],
    "deviate report": [
        "report",
        "trained",
        "--set",
        "groups=half",
        "--difference",
        "test accuracy=1",
        "--format",
        "json",
    ],
    "deviate audit": ["audit", "--quick", "--json", "--", sys.executable, "train.py"],
    "deviate certify": ["certify", "-o", "repeats.json", "--json", "--", sys.executable, "train.py"],
    "deviate certify --verify": ["certify", "repeats.json", "repeats.json", "--json"],
    "deviate certify --resume-at": ["certify", "--resume-at", "2", "--json", "--", sys.executable, "train.py"],
    "deviate certify --price": ["certify", "--price", "-n", "2", "--json", "--", sys.executable, "train.py"],
    "deviate certify --fix": ["certify", "--fix", "--json", "--", sys.executable, "train.py"],
    "deviate diverge": ["diverge", "--json", "--", sys.executable, "train.py"],
    "deviate extract": ["extract", "train.py", "--json"],
    "deviate extract --verify": ["extract", "--verify", "--json", "--", sys.executable, "train.py"],
    "deviate import": ["import", "results.csv", "--name", "a", "--json"],
    "deviate list": ["list", "--json"],
    "deviate doctor": ["doctor", "--json"],
    "deviate show": ["show", "trained", "--json"],
    "deviate compare A B": ["compare", "a", "b", "--margin", "val acc=0.5", "--json"],
    "deviate compare A B C": ["compare", "a", "b", "c", "--margin", "val acc=0.5", "--json"],
    "deviate compare A B --set groups": ["compare", "trained", "other", "--set", "groups=half", "--json"],
    "deviate run (experiments of deviate.toml)": ["run", "--json"],
    "deviate compare NAME (a grid)": ["compare", "grid", "--json"],
    "deviate check": ["check", "a", "--against", "b", "--metric", "val acc", "--max-drop", "0.5", "--json"],
    "deviate check --set max_churn --set groups": [
        *CHECKED,
        "--set",
        "max_churn=90%",
        "--set",
        "groups=half",
        "--json",
    ],
    "deviate check --target": ["check", "a", "--target", "val acc>=90", "--json"],
    "deviate baseline": ["baseline", "a", "--metric", "val acc", "--json"],
    "deviate judge": ["judge", "b", "--json"],
    "deviate plan": ["plan", "a", "--difference", "0.5", "--set", "precision=0.2", "-n", "5", "--json"],
}

#: Commands that print the object of another.
SAME = {"deviate run": "deviate report"}

#: Commands that print the object of another with one part more: the part.
MORE = {"deviate compare A B --set groups": "predictions"}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each command prints."""
    project = tmp_path_factory.mktemp("project")
    (project / "train.py").write_text(TRAIN)
    (project / "predict.py").write_text(PREDICT)
    (project / "results.csv").write_text(RESULTS)
    (project / "deviate.toml").write_text(GRID)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        for name in ("b", "c"):
            assert deviate("import", "results.csv", "--name", name).status == 0
        other = [*TRAINED, "other", "--seed", "5", "--", sys.executable, "predict.py"]
        assert deviate(*other).status == 0
        done = {command: deviate(*words) for command, words in COMMANDS.items()}
    assert not {command: ended.err for command, ended in done.items() if not ended.out}
    return {command: ended.json for command, ended in done.items()}


def keys_of(value: Any, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the path and the keys of every object within `value`."""
    if isinstance(value, list):
        objects = [entry for entry in value if isinstance(entry, dict)]
        if objects:
            yield from keys_of({key: sample(objects, key) for entry in objects for key in entry}, f"{path}[]")
    elif isinstance(value, dict):
        if path.rpartition(".")[2] in KEYED_BY_DATA:
            yield from keys_of(next((part for part in value.values() if isinstance(part, dict)), None), f"{path}.*")
            return
        yield path, list(value)
        for key, part in value.items():
            yield from keys_of(part, f"{path}.{key}" if path else key)


def sample(objects: list[dict[str, Any]], key: str) -> Any:
    """Return the first value of `key` that has keys of its own, else any."""
    values = [entry[key] for entry in objects if key in entry]
    return next((value for value in values if isinstance(value, (dict, list)) and value), values[0])


def section(printed: dict[str, Any]) -> str:
    """Return the section of the page that lists keys."""
    parts = []
    for command, value in printed.items():
        if command not in SAME:
            listed = [each for each in keys_of(value) if each[0].startswith(MORE.get(command, ""))]
            lines = [f"- {f'`{path}`' if path else 'the object'}: {', '.join(keys)}" for path, keys in listed]
            parts.append(f"\n### {command}\n\n" + "\n".join(lines) + "\n")
    return "".join(parts) + "\n"


def test_the_page_lists_the_keys_in_their_order(printed: dict[str, Any]) -> None:
    text = PAGE.read_text()
    expected = KEYS.sub(lambda match: section(printed), text)
    if os.environ.get("DEVIATE_DOCS") == "write":
        PAGE.write_text(expected)
        text = expected
    assert text == expected


def test_every_object_begins_with_the_schema_that_the_page_names(printed: dict[str, Any]) -> None:
    (schema,) = re.findall(r"It is (\d+) everywhere today", PAGE.read_text())
    assert {command: next(iter(value.items())) for command, value in printed.items()} == dict.fromkeys(
        printed, ("schema", int(schema))
    )


@pytest.mark.parametrize(("command", "other"), SAME.items())
def test_commands_that_share_a_contract_print_the_same_keys(printed: dict[str, Any], command: str, other: str) -> None:
    assert list(printed[command]) == list(printed[other])


def test_no_object_holds_a_number_that_json_does_not_have(printed: dict[str, Any]) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    for value in printed.values():
        json.loads(json.dumps(value), parse_constant=refuse)
