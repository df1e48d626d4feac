"""Threads, cores and determinism switches of runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.core.frameworks import (
    SWITCHES,
    VARIABLES,
    deterministic,
    numerical_variables,
    thread_count,
    thread_variables,
)
from deviate.runs.executors.local import divide
from deviate.runs.hardware import Gpus


@given(st.integers(1, 64), st.integers(1, 80))
def test_every_slot_has_as_many_cores_as_threads_and_all_have_equally_many(cores, jobs):
    slots = divide(range(cores), jobs, Gpus())
    assert [slot.index for slot in slots] == list(range(jobs))
    assert {slot.threads for slot in slots} == {len(slot.cores) for slot in slots} == {max(1, cores // jobs)}


@given(st.integers(1, 64), st.integers(1, 64))
def test_no_core_is_shared_as_long_as_there_are_enough(cores, jobs):
    used = [core for slot in divide(range(100, 100 + cores), jobs, Gpus()) for core in slot.cores]
    assert set(used) <= set(range(100, 100 + cores))
    assert jobs > cores or len(used) == len(set(used))


def test_gpus_are_given_in_turn_and_all_of_them_to_a_run_that_is_alone():
    assert [slot.gpus for slot in divide(range(4), 3, Gpus(("0", "1")))] == ["0", "1", "0"]
    assert divide(range(4), 1, Gpus(("0", "1")))[0].gpus == "0,1"
    assert {slot.gpus for slot in divide(range(4), 2, Gpus())} == {None}


def test_libraries_are_told_the_number_of_threads():
    assert thread_variables(2, {}) == dict.fromkeys(VARIABLES, "2")
    assert thread_variables(None, {}) == {}


def test_what_the_user_has_told_them_wins():
    user = {"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "1"}
    threads = thread_count(8, user)
    told = thread_variables(threads, user)
    assert threads == 3
    assert "OMP_NUM_THREADS" not in told
    assert "MKL_NUM_THREADS" not in told
    assert told["OPENBLAS_NUM_THREADS"] == "3"


@pytest.mark.parametrize(("text", "threads"), [("4,2", 4), ("", 8), ("many", 8), ("0", 8)])
def test_the_users_number_is_read_as_openmp_does(text, threads):
    assert thread_count(8, {"OMP_NUM_THREADS": text}) == threads


def test_nothing_is_counted_where_nothing_is_told():
    assert thread_count(None, {"OMP_NUM_THREADS": "4"}) is None


def test_every_switch_is_set():
    assert deterministic({}) == {**SWITCHES, "XLA_FLAGS": "--xla_gpu_deterministic_ops=true"}


def test_settings_of_the_user_that_are_as_good_stay():
    held = deterministic({"CUBLAS_WORKSPACE_CONFIG": ":16:8", "NCCL_ALGO": "Tree", "TF_DETERMINISTIC_OPS": "0"})
    assert "CUBLAS_WORKSPACE_CONFIG" not in held
    assert "NCCL_ALGO" not in held
    assert held["TF_DETERMINISTIC_OPS"] == "1"


def test_flags_for_xla_are_kept():
    flags = "--xla_cpu_enable_fast_math=false"
    assert deterministic({"XLA_FLAGS": flags})["XLA_FLAGS"] == f"{flags} --xla_gpu_deterministic_ops=true"
    assert "XLA_FLAGS" not in deterministic({"XLA_FLAGS": "--xla_gpu_deterministic_ops=true"})


def test_variables_that_change_numbers_are_kept_and_secrets_and_those_of_other_programs_are_not():
    kept = {"OMP_NUM_THREADS": "2", "TF_ENABLE_ONEDNN_OPTS": "0", "NVIDIA_TF32_OVERRIDE": "0"}
    others = ("TF_CLI_CONFIG_FILE", "TF_TOKEN_app_terraform_io", "TF_VAR_region", "NVIDIA_API_KEY", "HOME")
    assert numerical_variables({**kept, **dict.fromkeys(others, "x")}) == dict(sorted(kept.items()))
