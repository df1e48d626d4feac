"""Names are read by their words: what only holds the letters of one means something else."""

import ast
import re

import pytest

from deviate.lexicon.words import TRAIN
from deviate.source import analysis as comparisons
from deviate.source.draws.calls import OPTIMIZER
from deviate.source.draws.handling import HOLDERS
from deviate.source.draws.moments import _SAME_THING
from deviate.source.draws.roles import _NAMES
from deviate.source.flow.calls import _LOSS
from deviate.source.flow.expressions import _MAIN_PROCESS, _NOT_FINITE
from deviate.source.loop_candidates import _OPTIMISERS, _TRAIN_OPS
from deviate.source.main_loop import _EVALUATES, _SCORES, _aside_words
from deviate.source.metrics.names import _MAPPINGS
from deviate.source.settings.constants import BESIDE
from deviate.source.sinks.reports import _LOGGERS
from deviate.source.sinks.rows import _AXES, _BAR, _CONSOLE, _LOGGER, _LOGGING, _SUMMARY_WRITER
from deviate.source.syntax import is_dataclass


@pytest.mark.parametrize(
    ("pattern", "words", "others"),
    [
        (_EVALUATES, "evaluate run_test runTest validate_epoch", "retrieval latest contest"),
        (_SCORES, "metrics compute_score", "geometric symmetric_loss"),
        (BESIDE, "test demo.py export_model debug", "latest contest"),
        (_AXES, "plt ax ax1 axes[0] self.axs", "softmax relax parallax"),
        (_LOGGING, "loguru.logger absl.logging structlog lib.log", "catalog dialog logit login"),
        (_LOGGER, "logger self.log trainlog tb_logger mytrainer run.run aim_run", "catalog claim strainer logits"),
        (_SUMMARY_WRITER, "tb tb_writer tensorboard board summarywriter", "outbox keyboard catalog"),
        (_CONSOLE, "accelerator console self.fabric dist xm", "distance myself enriched"),
        (_BAR, "bar pbar progress_bar progressbar epochBar bar2 tqdm", "barrier crowbar toolbar"),
        (_LOGGERS, "AverageMeter Avgmeter update_stats Logger record", "Parameters State Geometric Station"),
        (_MAPPINGS, "stats self.results testloss eval_log acc scores", "state access logits retrieval glossary"),
        (_MAIN_PROCESS, "dist.get_rank() is_main_process isMaster gpu localrank", "domain remaining ranking"),
        (_NOT_FINITE, "np.isnan(x) math.isfinite(x) not_finite overflow", "definite banana"),
        (_OPTIMISERS, "optimizer opt_g self.optim d_optimizer scaler trainer", "resolver optimal strainer option"),
        (_TRAIN_OPS, "train_op pretrain opt update_ops", "constraint strain options dissolver"),
        (TRAIN, "train pretrain_cli runTraining", "constrain restrain"),
        (_LOSS, "cross_entropy nll mse_loss f1_score", "glossary nllb_tokens"),
        (OPTIMIZER, "optimizer opt tx d_opt adam_optimiser", "ctx adopt resolver"),
        (_SAME_THING, "shuffle perm randperm augment normalize_batch", "shufflenet hypermodel permission"),
        (HOLDERS, "DataLoader Mydataset FloatTensor ndarray DataFrame Dataset Batch", "Downloader Keyframe Asset"),
        (comparisons._PREDICTED, "pred y_pred out outputs logits.argmax(1) probs y_hat", "count ground_truth problem"),
        (comparisons._TARGET, "target y labels ground_truth classes y_true", "classifier(x) preferred golden"),
    ],
)  # fmt: skip
def test_words(pattern, words, others):
    assert [name for name in [*words.split(), *others.split()] if re.search(pattern, name)] == words.split()


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("get_batch", "shuffle"),
        ("make_batchnorm", None),
        ("shuffle_rows", "shuffle"),
        ("shufflenet", None),
        ("collate_fn", "augment"),
        ("collateral", None),
        ("init_layer", "init"),
        ("init_player", None),
        ("make_dataset", "data"),
        ("get_train_set", "data"),
        ("get_offset", None),
        ("train_test_split", "data"),
        ("unsplittable", None),
    ],
)
def test_functions_are_for_what_the_words_of_their_names_say(name, factor):
    assert next((each for each, pattern in _NAMES if pattern.search(name)), None) == factor


@pytest.mark.parametrize(
    ("decorator", "is_one"),
    [
        ("dataclass", True), ("dataclasses.dataclass(frozen=True)", True), ("attr.s", True), ("attrs.define()", True),
        ("struct.dataclass", True), ("attribute", False), ("attrgetter", False), ("register('dataclass')", False),
    ],
)  # fmt: skip
def test_decorators_that_make_fields_are_known_by_their_packages(decorator, is_one):
    assert is_dataclass(ast.parse(f"@{decorator}\nclass A: pass").body[0]) is is_one


def test_purposes_are_words_of_a_name():
    assert _aside_words("pretrain_encoder") == {"pretrain"}
    assert _aside_words("warmupSteps") == {"warmup"}
    assert _aside_words("definition") == set()
