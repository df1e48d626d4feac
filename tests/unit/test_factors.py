"""Factors: variants by name, seeds that vary or stay as the variant says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.core.errors import BadOption
from deviate.core.factors import (
    ALGORITHMIC,
    DATA,
    FACTORS,
    GROUPS,
    OBSERVED,
    SEEDED,
    VARIANTS,
    bit_seed,
    derive_seed,
    find_variant,
    parse_variant,
    parse_variants,
    run_seeds,
)

CONTROLLED = [variant for variant in VARIANTS.values() if variant.controlled]


def test_unknown_variant_lists_the_known_ones_and_the_nearest():
    with pytest.raises(BadOption) as caught:
        parse_variant("shufle")
    assert all(name in caught.value.message for name in (*VARIANTS, *GROUPS))
    assert "--vary shuffle" in caught.value.hint


@pytest.mark.parametrize(("text", "word"), [("init,foo", "'foo'"), ("init,,layers", "''"), ("", "''")])
def test_a_word_that_is_no_factor_is_named(text, word):
    with pytest.raises(BadOption, match=word):
        parse_variant(text)


@pytest.mark.parametrize("text", ["init,control", "arms,init", "as-is,layers"])
def test_names_that_stand_alone_cannot_be_in_a_list(text):
    with pytest.raises(BadOption, match="stands alone"):
        parse_variant(text)


def test_name_is_taken_in_any_case_and_with_spaces():
    assert parse_variant(" Control ") is VARIANTS["control"]


@given(st.lists(st.sampled_from(FACTORS), min_size=1))
def test_a_list_has_one_name_whatever_its_order_and_is_read_back_from_it(factors):
    variant = parse_variant(", ".join(factors))
    assert variant.varying == set(factors)
    assert parse_variant(",".join(reversed(factors))) == variant
    assert find_variant(variant.name) == variant


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("init", "init"),
        ("layers,init", "init,layers"),
        ("other,layers,augment,shuffle,init", "algo"),
        ("impl,algo", "algo+impl"),
        ("data,algo", "init,shuffle,augment,layers,other,data"),
    ],
)
def test_lists_are_named_in_one_order(text, name):
    assert parse_variant(text).name == name


def test_groups_are_expanded_and_no_variant_comes_twice():
    names = [variant.name for variant in parse_variants(["arms", "sources", "layers,init", "ARMS"])]
    assert names == ["algo+impl", "algo", "impl", "control", *ALGORITHMIC, "init,layers"]
    assert [v.name for v in parse_variants(["sources"])] == ["algo+impl", *ALGORITHMIC, "impl", "control"]


def test_names_in_files_that_are_unknown_are_no_error():
    assert find_variant("from the future") is None
    assert find_variant(OBSERVED.name) is OBSERVED


@given(st.sampled_from(CONTROLLED), st.integers(), st.integers(0, 10_000), st.integers(0, 10_000))
def test_only_what_varies_has_another_seed_in_another_run(variant, seed, one, other):
    first, second = run_seeds(variant, seed, one), run_seeds(variant, seed, other)
    differing = {factor for factor in SEEDED if first[factor] != second[factor]}
    assert differing == (set() if one == other else variant.drawn)


@given(st.sampled_from(CONTROLLED), st.integers())
def test_the_first_run_of_every_variant_draws_as_control_does(variant, seed):
    assert run_seeds(variant, seed, 0) == run_seeds(VARIANTS["control"], seed, 0)


@given(st.integers())
def test_every_run_and_factor_has_its_own_seed_when_all_varies(seed):
    runs = [run_seeds(VARIANTS["algo+impl"], seed, index) for index in range(100)]
    assert len({run[factor] for run in runs for factor in ALGORITHMIC}) == 100 * len(ALGORITHMIC)
    assert len({run[DATA] for run in runs}) == 1
    assert all(0 <= value < 2**32 for run in runs for value in run.values())


def test_as_is_leaves_the_programs_seeds_alone():
    assert run_seeds(VARIANTS["as-is"], 0, 3) is None
    assert run_seeds(OBSERVED, 0, 3) is None


def test_another_bit_is_turned_over_in_each_run():
    assert len({bit_seed(VARIANTS["bit"], 0, index) for index in range(50)}) == 50
    assert bit_seed(VARIANTS["control"], 0, 1) is None


def test_derived_seeds_are_the_same_on_every_machine():
    assert derive_seed(0, "all", 0) == 947416086


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.name)
def test_plain_words_may_be_typed_for_every_variant(variant):
    assert parse_variant(variant.plain) is variant


def test_words_of_a_list_may_be_plain():
    assert parse_variant("Data order, initialisation").name == parse_variant("order,init").name == "init,shuffle"
    assert parse_variant("draws,kernels") is VARIANTS["algo+impl"]
    assert parse_variant("init,impl").plain == "initialisation + kernels"
