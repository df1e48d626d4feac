"""Factors: variants by name, seeds that vary or stay as the variant says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.errors import BadOption
from deviate.factors import VARIANTS, derive_seed, parse_variant, run_seed


def test_unknown_variant_lists_the_known_ones():
    with pytest.raises(BadOption) as caught:
        parse_variant("everything")
    assert all(name in caught.value.message for name in VARIANTS)


def test_name_is_taken_in_any_case_and_with_spaces():
    assert parse_variant(" Control ") is VARIANTS["control"]


@given(st.integers(), st.integers(0, 10_000), st.integers(0, 10_000))
def test_control_gives_every_run_the_same_seed(seed, one, other):
    control = VARIANTS["control"]
    assert run_seed(control, seed, one) == run_seed(control, seed, other)


@given(st.integers())
def test_every_run_has_its_own_seed_when_all_varies(seed):
    seeds = [run_seed(VARIANTS["algo+impl"], seed, index) for index in range(100)]
    assert len(set(seeds)) == 100
    assert all(0 <= value < 2**32 for value in seeds)


def test_as_is_leaves_the_programs_seeds_alone():
    assert run_seed(VARIANTS["as-is"], 0, 3) is None


def test_derived_seeds_are_the_same_on_every_machine():
    assert derive_seed(0, "all", 0) == 947416086
