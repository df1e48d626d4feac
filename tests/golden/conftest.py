"""The project that the golden outputs are about."""

import cli_output
import pytest
import workspaces


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A project with all experiments of `workspaces`, and two that were imported."""
    folder = tmp_path_factory.mktemp("golden") / "project"
    workspaces.write_project(folder)
    return folder


@pytest.fixture(scope="session")
def grid(tmp_path_factory):
    """A project with a grid."""
    folder = tmp_path_factory.mktemp("golden") / "project"
    workspaces.write_grid(folder)
    return folder


@pytest.fixture(scope="session")
def imported(project):
    """What `deviate import` said, by a name for each way to call it; `project` has the experiments from then on."""
    return {
        "curves.txt": cli_output.deviate(project, "import", "results.csv", "--run-column", "seed"),
        "finals.json": cli_output.deviate(
            project, "import", "finals.csv", "--run-column", "seed", "--set", "direction=top1=higher", "--json"
        ),
    }
