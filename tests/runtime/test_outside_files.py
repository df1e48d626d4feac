"""What a program opens outside its run is written down, and what it starts gets the runtime back."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Both, Run

READ, WRITTEN, KEPT = "read.txt", "written.txt", "kept.txt"

OPENS = """
import os, pathlib, sys
folder = sys.argv[1] if len(sys.argv) > 1 else {folder!r}
pathlib.Path(folder, "read.txt").read_text()
with open(folder + "/written.txt", "w") as file:
    file.write("new")
os.close(os.open(folder + "/kept.txt", os.O_RDONLY))
with open(folder + "/kept.txt", "w") as file:
    file.write("another")
open("inside.txt", "w").close()
open("inside.txt").close()
try:
    open(folder + "/missing.txt")
except FileNotFoundError:
    pass
"""


def test_files_outside_are_noted_as_they_were_and_as_they_were_left(run: Run, tmp_path: Path):
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in (READ, KEPT):
        (folder / name).write_text("old")
    outcome = run(OPENS.format(folder=str(folder)))
    events = outcome.of("opened")
    assert events[-1] == {"event": "opened", "ended": True, "left": 0}
    rows = {Path(row[0]).name: row[1:] for event in events for row in event.get("files", ())}
    assert set(rows) == {READ, WRITTEN, KEPT}
    before, digest, written, after = rows[READ]
    assert (before[0], digest.split()[0], written, after) == (3, "whole", False, None)
    assert rows[WRITTEN][0] is None
    assert (rows[WRITTEN][2], rows[WRITTEN][3][0]) == (True, 3)
    before, digest, written, after = rows[KEPT]
    assert (before[0], digest, written, after[0]) == (3, "", True, 7)


#: Each first lines of a script, and which files are noted then: of the script, a module of the project and a library.
FIRST = {
    "import lib.part": ["script"],
    "import lib.part\nimport math, _heapq": ["script"],
    "'''Text.'''\nfrom __future__ import annotations\nfrom lib import part": ["script"],
    "import json, other\nimport lib": ["lib", "project", "script"],
    "import lib.alias": ["script"],
    "import json": ["script"],
    "import json\njson.loads('1')\nimport lib": ["lib", "script"],
    "from other import opens\nimport lib": ["lib", "project", "script"],
    "try:\n    import lib\nexcept ImportError:\n    pass": ["lib", "script"],
}


@pytest.mark.parametrize("first", FIRST)
def test_files_are_noted_from_where_a_script_has_imported_libraries(
    both: Both, tmp_path: Path, first: str, python: str
):
    for name in ("lib", "project", "script"):
        (tmp_path / name).write_text("old")
    opens = f"open({str(tmp_path)!r} + '/NAME').close()\n"
    library = tmp_path / "site-packages" / "lib"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(
        opens.replace("NAME", "lib") + "import sys, types\nsys.modules['lib.alias'] = types.ModuleType('lib.alias')\n"
    )
    (library / "part.py").write_text("import sys\nprint('part')\n")
    seen = both(
        f"{first}\n{opens.replace('NAME', 'script')}loss = 1.0\nprint(loss)\n",
        files={"other.py": opens.replace("NAME", "project") + "opens = 1\n"},
        path=(library.parent,),
        python=python,
    )
    events = seen.of("opened")
    if "3.7" in python:
        assert events == []
        return
    assert events[-1]["ended"]
    rows = [Path(row[0]).name for event in events for row in event.get("files", ())]
    assert sorted({"lib", "project", "script"}.intersection(rows)) == FIRST[first]


def test_files_of_a_library_in_any_folder_are_no_inputs(both: Both, tmp_path: Path):
    site, own = tmp_path / "target", tmp_path / "own.txt"
    (site / "lib-1.0.dist-info").mkdir(parents=True)
    (site / "lib").mkdir()
    for file in (own, site / "lib" / "style", tmp_path / "cache"):
        file.write_text("old")
    opens = f"open({str(tmp_path / 'cache')!r}).close()\ndef draw():\n    open(__file__[:-11] + 'style').close()\n"
    (site / "lib" / "__init__.py").write_text(opens)
    script = f"import lib\nlib.draw()\nopen({str(own)!r}).close()\nloss = 1.0\nprint(loss)\n"
    outcome = both(script, path=(site,))
    rows = [Path(row[0]).name for event in outcome.of("opened") for row in event.get("files", ())]
    assert rows == ["own.txt"]


STARTS = """
import os, subprocess, sys
code = "import os; print(os.environ.get('DEVIATE_RUNTIME') is not None, sorted(os.environ))"
{start}
"""


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.run([sys.executable, '-c', code], env={'A': 'b'})",
        "os.spawnve(os.P_WAIT, sys.executable, [sys.executable, '-c', code], {'A': 'b'})",
        "os.waitpid(os.posix_spawn(sys.executable, [sys.executable, '-c', code], {b'A': b'b'}), 0)",
        "os.environ.clear(); os.environ['A'] = 'b'; subprocess.run([sys.executable, '-c', code])",
        "os.environ.clear(); os.environ['A'] = 'b'; os.execv(sys.executable, [sys.executable, '-c', code])",
        "os.execve(sys.executable, [sys.executable, '-c', code], {'A': 'b'})",
    ],
)
def test_python_that_is_started_with_an_environment_of_its_own_gets_two_variables_back(run: Run, start: str):
    outcome = run(STARTS.format(start=start))
    assert outcome.stdout.startswith("True ")
    assert "'DEVIATE_RUNTIME'" in outcome.stdout
    assert "'PYTHONPATH'" in outcome.stdout
    assert "'HOME'" not in outcome.stdout
    (child,) = {event["pid"] for event in outcome.of("child")}
    assert child in {event["pid"] for event in outcome.of("start")}


def test_other_programs_see_the_environment_that_they_are_given(run: Run):
    outcome = run("import subprocess\nsubprocess.run(['/bin/cat', '/proc/self/environ'], env={'A': 'b'})")
    assert outcome.stdout.strip("\0\n") == "A=b"
    assert outcome.of("child") == []
