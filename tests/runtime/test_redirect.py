"""Imports that lead to the original project are served from the overlay."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import INJECTED, Run

Make = Callable[..., None]


@pytest.fixture
def project(tmp_path: Path, work: Path) -> Path:
    """A project and its overlay with the same modules, each of which tells where it is from."""
    original = tmp_path / "original"
    for root, word in ((original, "original"), (work, "overlay")):
        package = root / "src" / "package"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"origin = {word!r}")
        (package / "inner.py").write_text(f"origin = {word!r}")
        (root / "single.py").write_text(f"origin = {word!r}")
        (root / "spaces" / "part").mkdir(parents=True)
        (root / "spaces" / "part" / "leaf.py").write_text(f"origin = {word!r}")
    (original / "venv").mkdir()
    (original / "venv" / "library.py").write_text("origin = 'original'")
    (original / "only_here.py").write_text("origin = 'original'")
    return original


def test_pythonpath_into_the_original_is_mapped(run: Run, project: Path, python: str) -> None:
    source = """
    import single, package.inner, spaces.part.leaf
    print(single.origin, package.inner.origin, spaces.part.leaf.origin)
    """
    outcome = run(textwrap.dedent(source), python=python, path=(project, project / "src"))
    assert (outcome.stdout, outcome.stderr) == ("overlay overlay overlay\n", "")


def test_a_path_added_by_the_program_is_redirected(run: Run, project: Path, python: str) -> None:
    source = f"""
    import sys
    sys.path.insert(0, {str(project / "src")!r})
    sys.path.insert(0, {str(project)!r})
    import single, package, spaces.part.leaf
    from package import inner
    print(single.origin, package.origin, inner.origin, spaces.part.leaf.origin)
    import importlib
    print(importlib.reload(inner).origin, inner.__file__, inner.__spec__.origin == inner.__file__)
    """
    outcome = run(textwrap.dedent(source), python=python)
    assert outcome.stderr == ""
    origins, reloaded = outcome.stdout.splitlines()
    assert origins == "overlay overlay overlay overlay"
    assert reloaded.startswith("overlay ")
    assert "original" not in reloaded
    assert reloaded.endswith("True")


def test_an_editable_finder_is_redirected(run: Run, project: Path, python: str) -> None:
    source = f"""
    import sys
    from importlib.util import spec_from_file_location
    class EditableFinder:
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            if name == "package":
                return spec_from_file_location(name, {str(project / "src" / "package" / "__init__.py")!r})
    sys.meta_path.append(EditableFinder)
    import package.inner
    print(package.origin, package.inner.origin)
    """
    assert run(textwrap.dedent(source), python=python).stdout == "overlay overlay\n"


def test_what_is_kept_or_not_in_the_overlay_stays(run: Run, project: Path) -> None:
    source = f"""
    import sys
    sys.path.append({str(project)!r})
    import library, only_here
    print(library.origin, only_here.origin)
    """
    source = textwrap.dedent(source)
    outcome = run(source, path=(project / "venv",), kept=[str(project / "venv")])
    assert outcome.stdout == "original original\n"


def test_an_overlay_within_the_original_is_left_alone(run: Run, tmp_path: Path, work: Path) -> None:
    (work / "module.py").write_text("origin = __file__")
    outcome = run(
        f"import sys\nsys.path.append({str(work)!r})\nimport module\nprint(module.origin)", original=str(tmp_path)
    )
    assert outcome.stdout == f"{work / 'module.py'}\n"


def test_a_folder_whose_name_begins_alike_is_another(run: Run, tmp_path: Path, work: Path) -> None:
    (tmp_path / "original2").mkdir()
    (tmp_path / "original2" / "single.py").write_text("origin = 'another'")
    (work / "2").mkdir()
    outcome = run("import single\nprint(single.origin)", path=(tmp_path / "original2",))
    assert outcome.stdout == "another\n"


def test_a_linked_path_to_the_original_is_mapped(run: Run, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    outcome = run("import single\nprint(single.origin)", path=(tmp_path / "link",), original=str(tmp_path / "link"))
    assert outcome.stdout == "overlay\n"


def test_run_as_a_module_from_the_original_path(run: Run, project: Path, work: Path) -> None:
    for root, word in ((project, "original"), (work, "overlay")):
        (root / "src" / "package" / "__main__.py").write_text(f"print({word!r}, __name__)")
    outcome = run("", "-m", "package", path=(project / "src",))
    assert outcome.stdout == "overlay __main__\n"


def test_what_pip_installed_into_any_folder_is_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(INJECTED))
    libraries = importlib.import_module("deviate_runtime.patching")
    (tmp_path / "lib" / "plots-1.0.dist-info").mkdir(parents=True)
    for folder in ("lib", "code"):
        (tmp_path / folder / "plots").mkdir(parents=True)
        (tmp_path / folder / "plots" / "__init__.py").touch()
        assert libraries.is_installed(str(tmp_path / folder / "plots" / "lines.py")) is (folder == "lib")
    assert libraries.is_installed(str(tmp_path / "lib" / "pylab.py"))
    assert not libraries.is_installed(str(tmp_path / "gone" / "train.py"))
