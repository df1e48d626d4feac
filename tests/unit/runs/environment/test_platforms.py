"""Other machines, emulated: which there are, and what a run on each is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.runs.environment import LEVELS, cpu_flags, platform_variables, platforms, thread_counts

AVX512 = {flag for level in LEVELS for flag in level.needs}
AVX2 = AVX512 - {"avx512f"}


@given(st.sets(st.sampled_from(sorted(AVX512))), st.none() | st.integers(1, 256))
def test_the_first_platform_is_the_machine_as_it_is_and_none_comes_twice(flags, threads):
    found = platforms(flags, threads)
    assert (found[0].variables, found[0].xla_flag, found[0].threads) == ({}, "", threads)
    assert len({each.name for each in found}) == len(found) > 1
    assert len({msg(each) for each in found}) == len(found)


def msg(platform):
    return repr((sorted(platform.variables.items()), platform.xla_flag, platform.threads))


def test_only_older_instructions_than_the_processor_has_are_asked_for():
    told = {each.variables.get("ONEDNN_MAX_CPU_ISA") for each in platforms(AVX2, 2)}
    assert told == {None, "AVX", "SSE41"}
    assert {each.variables.get("ATEN_CPU_CAPABILITY") for each in platforms(AVX512, 2)} == {None, "avx2", "default"}


def test_without_x86_only_threads_differ():
    assert [each.threads for each in platforms(set(), 4)] == [4, 2, 1]
    assert {tuple(each.variables) for each in platforms(set(), 4)} == {()}


def test_one_thread_is_compared_with_two():
    assert thread_counts(1) == [1, 2]


def test_a_platform_overrides_what_the_user_told_libraries():
    user = {"OMP_NUM_THREADS": "7", "XLA_FLAGS": "--a", "MKL_CBWR": "AVX2"}
    older = next(each for each in platforms(AVX2, 2) if each.variables and each.threads == 1)
    told = platform_variables(older, user)
    assert told["OMP_NUM_THREADS"] == "1"
    assert told["XLA_FLAGS"] == f"--a {older.xla_flag}"
    assert told["MKL_CBWR"] == older.variables["MKL_CBWR"]
    assert platform_variables(platforms(AVX2, None)[0], user) == {}


@pytest.mark.parametrize(
    ("text", "flags"), [("vendor_id : x\nflags\t\t: fpu avx2\n\nflags : sse\n", {"fpu", "avx2"}), ("nothing", set())]
)
def test_flags_are_read_of_the_first_processor(tmp_path, text, flags):
    path = tmp_path / "cpuinfo"
    path.write_text(text)
    assert cpu_flags(path) == flags
    assert cpu_flags(tmp_path / "missing") == frozenset()
