"""Modules outside the project that imports lead to: read wherever they lie, libraries left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysed_projects import write

from deviate.core.experiment import Findings
from deviate.source import imports
from deviate.source.analysis import analyse_project

MAKING = """
import numpy as np
def rows(n):
    return np.random.randn(n, 2)
"""
TRAIN = """
{head}
from making import rows
import numpy as np
table = rows(10)
kernel = np.zeros(2)
for epoch in range(5):
    kernel -= lr * table.T @ (table @ kernel)
    print('loss', kernel.sum())
"""


def train(root: Path, head: str = "", *folders: Path) -> Findings:
    return analyse_project(write(root, train=TRAIN.format(head=head)), Path("train.py"), folders)


def drawn(findings: Findings) -> list[tuple[str, str]]:
    return [(draw.file, draw.factor) for draw in findings.draws]


def test_what_the_search_path_brings_in_is_read(tmp_path):
    write(tmp_path / "lib", making=MAKING)
    found = train(tmp_path / "project", "", tmp_path / "lib")
    making = (tmp_path / "lib" / "making.py").as_posix()
    assert drawn(found) == [(making, "data")]
    assert found.outside == [making]
    assert found.files == ["train.py", making]


def test_libraries_in_a_folder_of_any_name_are_left_alone(tmp_path):
    write(tmp_path / "lib", making=MAKING)
    (tmp_path / "lib" / "making-1.0.dist-info").mkdir()
    assert train(tmp_path / "project", "", tmp_path / "lib").files == ["train.py"]


@pytest.mark.parametrize(
    "head",
    [
        "import sys; sys.path.append('../lib')",
        "import os, sys; sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))",
        "import os, sys; sys.path.append(os.path.join(os.path.dirname(os.path.dirname(__file__)), 'lib'))",
        "import os, sys; sys.path.append(os.path.join(os.pardir, 'lib'))",
        "import sys; sys.path.extend(['../lib', 'gone'])",
        "import os, sys; sys.path.append(os.path.dirname(__file__) + '/../lib')",
        "import sys; from pathlib import Path; sys.path.append(str(Path(__file__).resolve().parents[1] / 'lib'))",
        "import sys; from pathlib import Path; ROOT = Path(__file__).parent.parent; sys.path.append(str(ROOT / 'lib'))",
    ],
)
def test_where_the_program_leads_its_search_path_is_read(tmp_path, head):
    write(tmp_path / "lib", making=MAKING)
    found = train(tmp_path / "project", head)
    assert drawn(found) == [((tmp_path / "lib" / "making.py").as_posix(), "data")]


def test_imports_within_a_package_outside_are_followed(tmp_path):
    write(tmp_path / "lib", making__deep__draw=MAKING, making__unused=MAKING)
    (tmp_path / "lib" / "making" / "__init__.py").write_text("from .deep.draw import rows\n")
    found = train(tmp_path / "project", "", tmp_path / "lib")
    assert [Path(file).relative_to(tmp_path).as_posix() for file, _ in drawn(found)] == ["lib/making/deep/draw.py"]
    assert "unused" not in "".join(found.files)


def test_installed_libraries_are_not_read(tmp_path):
    write(tmp_path / "lib" / "site-packages", making=MAKING)
    found = train(tmp_path / "project", "", tmp_path / "lib" / "site-packages")
    assert (found.files, found.outside) == (["train.py"], [])


def test_a_framework_installed_to_be_edited_is_not_read(tmp_path):
    write(tmp_path / "lib", torch="import numpy as np\nnp.random.rand(3)\n", making="import torch\n" + MAKING)
    found = train(tmp_path / "project", "", tmp_path / "lib")
    assert [Path(file).name for file in found.outside] == ["making.py"]


def test_what_nothing_imports_is_not_read(tmp_path):
    write(tmp_path / "lib", other=MAKING)
    write(tmp_path / "project", making=MAKING)
    found = train(tmp_path / "project", "", tmp_path / "lib")
    assert (drawn(found), found.outside) == ([("making.py", "data")], [])


def test_a_file_outside_that_does_not_parse_is_listed(tmp_path):
    write(tmp_path / "lib", making="def rows(:\n")
    found = train(tmp_path / "project", "", tmp_path / "lib")
    making = (tmp_path / "lib" / "making.py").as_posix()
    assert [(file.file, file.line) for file in found.unreadable] == [(making, 1)]
    assert found.outside == [making]


def test_of_a_huge_library_so_much_is_read_and_the_rest_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "MAX_OUTSIDE_FILES", 2)
    (tmp_path / "lib" / "huge").mkdir(parents=True)
    for number in range(5):
        (tmp_path / "lib" / "huge" / f"part{number}.py").write_text("")
    names = ", ".join(f"part{number}" for number in range(5))
    write(tmp_path / "lib", making=f"from huge import {names}\n" + MAKING)
    found = train(tmp_path / "project", "", tmp_path / "lib")
    assert sorted(Path(file).name for file in found.outside) == ["making.py", "part0.py"]
    (unread,) = found.unreadable
    assert Path(unread.file).name == "part1.py"
    assert "2 files outside the project" in unread.error
