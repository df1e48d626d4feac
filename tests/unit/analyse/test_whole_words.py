"""Names are read by their words: what only holds the letters of one means something else."""

import re

import pytest

from deviate.analyse.flow.libraries import _LOSS
from deviate.analyse.loops.finder import _EVALUATES, _SCORES, _aside_words
from deviate.analyse.settings.alternatives import BESIDE
from deviate.analyse.sinks.rows import _AXES, _LOGGING


@pytest.mark.parametrize(
    ("pattern", "words", "others"),
    [
        (_EVALUATES, ["evaluate", "run_test", "runTest", "validate_epoch"], ["retrieval", "latest", "contest"]),
        (_SCORES, ["metrics", "compute_score"], ["geometric", "symmetric_loss"]),
        (BESIDE, ["test", "demo.py", "export_model", "debug"], ["latest", "contest"]),
        (re.compile(_AXES), ["plt", "ax", "ax1", "axes[0]", "self.axs"], ["softmax", "relax", "parallax"]),
        (_LOGGING, ["loguru.logger", "absl.logging", "structlog", "lib.log"], ["catalog", "dialog", "logit", "login"]),
        (_LOSS, ["cross_entropy", "nll", "mse_loss", "f1_score"], ["glossary", "nllb_tokens"]),
    ],
)
def test_words(pattern, words, others):
    assert [name for name in [*words, *others] if pattern.search(name)] == words


def test_purposes_are_words_of_a_name():
    assert _aside_words("pretrain_encoder") == {"pretrain"}
    assert _aside_words("warmupSteps") == {"warmup"}
    assert _aside_words("definition") == set()
