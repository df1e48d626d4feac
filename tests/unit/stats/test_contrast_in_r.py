"""Tests on random samples, against R where it is installed; the nightly profile makes a thousand."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import settings

from deviate.stats.effects import mean_difference
from deviate.stats.paired_tests import paired_t
from deviate.stats.tests import (
    bartlett,
    brown_forsythe,
    f_variance,
    kruskal_wallis,
    levene,
    mann_whitney_u,
    student_t,
    welch_anova,
    welch_t,
)

SCRIPT = """
for (line in readLines("samples.txt")) {
  sides <- lapply(strsplit(line, ";")[[1]], function(side) as.numeric(strsplit(side, " ")[[1]]))
  a <- sides[[1]]; b <- sides[[2]]; c <- sides[[3]]
  values <- c(a, b, c); of <- factor(rep(1:3, c(length(a), length(b), length(c))))
  distances <- function(middle) t.test(abs(a - middle(a)), abs(b - middle(b)), var.equal = TRUE)$p.value
  n <- min(length(a), length(b))
  cat(sprintf("%.17g", c(
    t.test(a, b, var.equal = TRUE)$p.value, t.test(a, b)$p.value, t.test(a, b)$conf.int,
    t.test(a[1:n], b[1:n], paired = TRUE)$p.value, wilcox.test(a, b, exact = TRUE)$p.value,
    distances(median), distances(mean), var.test(a, b)$p.value, bartlett.test(list(a, b))$p.value,
    oneway.test(values ~ of)$p.value, kruskal.test(values, of)$p.value)), "\\n")
}
"""


def ours(a, b, c):
    """Return what the script prints."""
    n, interval = min(len(a), len(b)), mean_difference(a, b, paired=False).interval
    tests = [
        paired_t(a[:n], b[:n]), mann_whitney_u(a, b, np.random.default_rng(0)), brown_forsythe(a, b), levene(a, b),
        f_variance(a, b), bartlett(a, b), welch_anova([a, b, c]), kruskal_wallis([a, b, c]),
    ]  # fmt: skip
    return [student_t(a, b).p, welch_t(a, b).p, interval.low, interval.high, *(test.p for test in tests)]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (Debian: r-base-core)")
def test_p_and_intervals_of_random_samples_are_those_of_r(tmp_path):
    rng = np.random.default_rng(1)
    samples = [
        [rng.normal(rng.normal(), rng.lognormal(), rng.integers(5, 20)) for _ in range(3)]
        for _ in range(settings().max_examples)
    ]
    lines = [";".join(" ".join(map(repr, side.tolist())) for side in sides) for sides in samples]
    (tmp_path / "samples.txt").write_text("\n".join(lines) + "\n")
    printed = subprocess.run(["Rscript", "-e", SCRIPT], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    expected = [[float(word) for word in line.split()] for line in printed.splitlines()]
    assert len(expected) == len(samples)
    for sides, figures in zip(samples, expected, strict=True):
        # Of p-values below this, rounding leaves fewer digits.
        assert ours(*sides) == pytest.approx(figures, rel=1e-9, abs=1e-13)
