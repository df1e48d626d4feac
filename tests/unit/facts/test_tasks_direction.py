"""Tasks are on one scale, so what is better on one of them is better on all."""

from types import SimpleNamespace

import pytest

from deviate.core.errors import BadOption
from deviate.facts.tasks import _tasks

MATCHES = [(SimpleNamespace(name=name, values=[1.0, 2.0, 3.0]),) * 2 for name in ("Alien", "Pong", "Qbert")]


@pytest.mark.parametrize("said", ["higher", "lower", None])
def test_a_direction_that_is_known_of_one_task_is_that_of_all(said):
    tasks, direction = _tasks(MATCHES, {"Alien": None, "Pong": said, "Qbert": None})
    assert ([match[0].name for match in tasks], direction) == (["Alien", "Pong", "Qbert"], said)


def test_directions_that_contradict_each_other_are_no_tasks_of_one_scale():
    with pytest.raises(BadOption, match="higher values are better in all"):
        _tasks(MATCHES, {"Alien": "higher", "Pong": "lower", "Qbert": None})
