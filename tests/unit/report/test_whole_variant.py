"""All variants are set beside the one in which everything varies."""

import report_cases as cases

from deviate.cli.run import VARIED
from deviate.core.factors import GROUPS, VARIANTS
from deviate.report.topics.headline import BY_CHANCE

WIDE, NARROW = [90.0, 92.0, 94.0, 96.0], [91.0, 91.1, 91.2, 91.3]


def several(algo, whole):
    """Variants with four completed runs each; one more of `algo` failed."""
    done = (run for variant in ("algo+impl", "algo", "control") for run in cases.completed(variant, 4))
    values = {"algo+impl": whole, "algo": [*algo, None], "control": [91.0] * 4}
    made = {variant: {"test acc": each} for variant, each in values.items()}
    return cases.document(made, runs=[*done, cases.failed("algo", 4)])


def test_a_source_that_comes_out_larger_than_all_together_is_explained():
    assert BY_CHANCE in several(WIDE, NARROW).across_notes
    assert BY_CHANCE not in several(NARROW, WIDE).across_notes
    assert BY_CHANCE in " ".join(cases.render_terminal(several(WIDE, NARROW)).split())


def test_the_help_describes_each_variant():
    assert set(VARIED) == {*VARIANTS, *GROUPS}
