"""Tests that go through the files of the checkout meet no workspace that `make demo` or a user has left in it."""

import shutil
import subprocess

import pytest
from tracked import tracked_files

LEFT = ["examples/one/.deviate/experiments/e/runs/r/work/readme.md", ".venv/lib/page.md", "site/page.md"]


@pytest.mark.parametrize("has_git", [True, False])
def test_what_programs_left_is_no_file_of_the_checkout(tmp_path, has_git):
    for name in (*LEFT, "examples/one/deep/readme.md", "examples/one/train.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    if has_git:
        if not shutil.which("git"):
            pytest.skip("git is not installed")
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        subprocess.run(["git", "-C", str(tmp_path), "add", "examples/one/deep", "examples/one/train.py"], check=True)
        (tmp_path / "examples/one/results.md").write_text("a report that somebody kept")
    assert tracked_files("*.md", root=tmp_path) == [tmp_path / "examples/one/deep/readme.md"]
