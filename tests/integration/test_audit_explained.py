"""``deviate audit --explain``: the lines that drew, told by the runtime in real probes."""

import sys

import pytest
from cli_tool import deviate

TRAIN = """\
import random
import numpy as np
np.random.seed(1)
def noise():
    return np.random.randn(3)
rows = [random.gauss(0, 1) for _ in range(4)]
w = np.zeros(3)
for epoch in range(40):
    order = np.random.permutation(3)
    w -= 0.1 * (w[order] + noise())
    jitter = random.random()
    print("loss", float(abs(w).sum()))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def explain(factor, *options):
    done = deviate("audit", "--quick", "--explain", factor, "--json", *options, "--", sys.executable, "train.py")
    assert done.status == 0, done.out + done.err
    return done.json["explanation"]


def places(explanation):
    return [(line["line"], line["call"], line["counts"]) for line in explanation["lines"] if line["exact"]]


def test_each_draw_of_a_factor_is_counted_at_its_line(project):
    found = explain("shuffle")
    assert places(found) == [(9, "numpy.random.permutation", [40, 40])]
    assert found["lines"][0]["text"] == "order = np.random.permutation(3)"
    assert (found["first_difference"], found["complete"]) == (None, True)


def test_lines_stand_in_the_order_of_their_first_draws_and_the_first_that_varies_is_named(project):
    found = explain("other")
    assert places(found) == [(5, "numpy.random.randn", [40, 40]), (11, "random.random", [40, 40])]
    unseeded = found["lines"][-1]
    # What is drawn in a comprehension is not marked: it was drawn before the line that ends it.
    first = found["lines"][found["first_difference"]]
    assert (first["line"] <= 9, first["exact"]) == (True, False)
    assert unseeded["digests"][0] != unseeded["digests"][1]
    shown = deviate("audit", "--quick", "--explain", "other", "--", sys.executable, "train.py").out
    assert "train.py:11" in shown
    assert "The two probes first differ before train.py:" in shown


def test_a_factor_set_by_an_option_is_explained_as_what_it_was_set_to(project):
    assert places(explain("augment", "--set", "factor=train.py:11=augment")) == [(11, "random.random", [40, 40])]


def test_what_is_no_factor_starts_nothing(project):
    done = deviate("audit", "--explain", "impl", "--", sys.executable, "train.py")
    assert done.status == 2
    assert "--explain must be a factor that is drawn for, found 'impl'" in done.err
    assert "init, shuffle, augment, layers, other, data" in done.err


def test_an_audit_without_it_explains_nothing(project):
    done = deviate("audit", "--quick", "--json", "--", sys.executable, "train.py")
    assert done.json["explanation"] is None
