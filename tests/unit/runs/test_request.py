"""What a request may not ask for is refused before anything is trained."""

import pytest

from deviate.core.errors import BadOption
from deviate.runs.request import Request, check_request


def test_a_seed_that_numpy_would_refuse_in_the_report_is_refused_before_the_runs():
    with pytest.raises(BadOption, match="--seed must be at least 0, found -1"):
        check_request(Request(command=["python", "t.py"], seed=-1))
    check_request(Request(command=["python", "t.py"], seed=0))
