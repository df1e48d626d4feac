"""``--set figures`` of ``deviate report`` and ``deviate compare``."""

import json

import pytest
from click.testing import CliRunner
from compared_sides import write_experiment

import deviate
from deviate.cli.main import group
from deviate.core.errors import BadOption

pytestmark = pytest.mark.long


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, values in (("baseline", [90.0, 91.0, 92.5]), ("proposed", [93.0, 94.0, 95.5])):
        write_experiment(tmp_path, name, {"test acc": values})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(group, words, catch_exceptions=False)


def test_report_writes_every_figure_and_says_so(project):
    done = run("report", "baseline", "--set", "figures=out/pictures", "--set", "figure_format=svg")
    assert (done.exit_code, done.stdout) == (0, "")
    names = sorted(path.name for path in (project / "out" / "pictures").iterdir())
    assert names == ["distribution-test-acc.svg"]
    assert all(f"written to out/pictures/{name}" in done.stderr for name in names)
    assert set(deviate.load("baseline").figures()) == {name.removesuffix(".svg") for name in names}


def test_compare_writes_figures_beside_the_format_that_is_asked_for(project):
    done = run("compare", "baseline", "proposed", "--set", "figures=out", "--json")
    assert done.exit_code == 0
    assert len(json.loads(done.stdout)["metrics"]) == 2
    assert (project / "out" / "comparison-test-acc.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("command", [["report", "baseline"], ["compare", "baseline", "proposed"]])
def test_a_format_of_figures_without_figures_and_a_file_for_a_folder_are_refused(project, command):
    with pytest.raises(BadOption, match="figure_format"):
        run(*command, "--set", "figure_format=png")
    (project / "taken").write_text("mine")
    for folder in ("taken", "taken/below"):
        with pytest.raises(BadOption, match=f"cannot write {folder}"):
            run(*command, "--set", f"figures={folder}")
    assert (project / "taken").read_text() == "mine"


def test_tex_is_a_format_of_both(project):
    assert run("report", "baseline", "-o", "a.tex").exit_code == 0
    assert run("compare", "baseline", "proposed", "-o", "b.tex").exit_code == 0
    assert r"\toprule" in (project / "a.tex").read_text()
    assert r"\toprule" in (project / "b.tex").read_text()
