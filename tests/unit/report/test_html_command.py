"""Pages from the command line: to a file by its name, or to standard output."""

import pytest
from click.testing import CliRunner
from compared_sides import write_experiment

from deviate.cli.main import group
from deviate.runs.snapshot.manifest import Snapshot
from deviate.store.files import write_json

pytestmark = pytest.mark.long

SAMPLES = {"train loss": [0.3, 0.31, 0.29, 0.3, 0.32, 0.3], "test acc": [90.0, 91.0, 90.5, 90.2, 91.1, 90.7]}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    folder = write_experiment(tmp_path, "baseline", SAMPLES)
    write_json(folder.snapshot_file, Snapshot(project=str(tmp_path), source="5f2a9c", items=[], digests={}))
    write_experiment(tmp_path, "proposed", {name: values[::-1] for name, values in SAMPLES.items()})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(group, words, catch_exceptions=False)


@pytest.mark.parametrize("suffix", ["html", "htm", "HTML"])
@pytest.mark.parametrize("words", [("report", "baseline"), ("compare", "baseline", "proposed")])
def test_the_name_of_the_file_asks_for_a_page(project, words, suffix):
    done = run(*words, "-o", f"page.{suffix}")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "written to" in done.stderr
    page = (project / f"page.{suffix}").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("report", "baseline"), "deviate report baseline -o report.html"),
        (("compare", "baseline", "proposed"), "deviate compare baseline proposed -o comparison.html"),
    ],
)
def test_standard_output_gets_the_page_and_standard_error_a_hint(words, hint):
    done = run(*words, "--format", "html")
    assert done.exit_code == 0
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.rstrip().endswith("</html>")
    assert done.stderr == f"to a file: {hint}\n"


def test_a_report_of_some_metrics_has_tables_records_and_figures_of_these_only(project):
    table = run("report", "baseline", "--metric", "test acc", "--format", "md").stdout
    assert "test acc" in table
    assert "| train loss |" not in table
    assert "| time per run" not in table
    records = run("report", "baseline", "--metric", "test acc", "--format", "csv").stdout.splitlines()
    assert {line.split(",")[3] for line in records[1:]} <= {"test acc"}
    run("report", "baseline", "--metric", "test acc", "--set", "figures=figures")
    assert {path.name for path in (project / "figures").iterdir()} <= {
        "distribution-test-acc.pdf", "curves-test-acc.pdf", "timeline.pdf"
    }  # fmt: skip
    refused = CliRunner().invoke(group, ["report", "baseline", "--metric", "nope", "-o", "page.md"])
    assert refused.exit_code != 0
    assert "train loss" in refused.exception.hint
    assert not (project / "page.md").exists()


def test_a_figure_that_takes_the_place_of_another_is_said_to(project):
    words = ("report", "baseline", "--metric", "test acc", "--set", "figures=figures", "--set", "figure_format=svg")
    first, second = run(*words), run(*words)
    assert "written to figures/distribution-test-acc.svg" in first.stderr
    assert "replaced" not in first.stderr
    assert "replaced figures/distribution-test-acc.svg" in second.stderr
    assert "written to" not in second.stderr


def test_a_page_is_not_written_where_no_file_can_be():
    done = CliRunner().invoke(group, ["report", "baseline", "-o", "nowhere/page.html"])
    assert done.exit_code != 0
    assert done.stdout == ""
