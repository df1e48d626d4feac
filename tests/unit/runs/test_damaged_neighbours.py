"""A command is not continued past a damaged experiment, which may be its own: the user says whether it is."""

import pytest
from compared_sides import write_experiment

from deviate.core.errors import WorkspaceUnusable
from deviate.runs import resume
from deviate.store.folders import Workspace


def test_a_damaged_experiment_is_named_with_the_way_around_it(tmp_path):
    write_experiment(tmp_path, "whole", {"test acc": [90.0, 91.0]})
    damaged = write_experiment(tmp_path, "damaged", {"test acc": [90.0, 91.0]}).experiment_file
    damaged.write_bytes(damaged.read_bytes()[:-60])
    with pytest.raises(WorkspaceUnusable, match=str(damaged)) as refused:
        resume._latest(Workspace(tmp_path), lambda experiment: True)
    assert refused.value.hint.endswith("or make an experiment of its own: --name NAME")
