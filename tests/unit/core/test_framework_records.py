"""The tool's records of frameworks: consistent, and none twice."""

import re
from collections import Counter

from deviate.core.frameworks import FRAMEWORKS


def test_no_framework_and_no_variable_has_two_records():
    for field in ("switches", "flags", "threads", "variables", "packages", "instructions", "weights"):
        entries = Counter(entry for framework in FRAMEWORKS for entry in getattr(framework, field))
        assert set(entries.values()) <= {1}, field
    assert len({framework.name for framework in FRAMEWORKS}) == len(FRAMEWORKS)


def test_only_values_of_switches_can_be_as_good():
    for framework in FRAMEWORKS:
        assert set(framework.as_good) <= set(framework.switches)
        for name, values in framework.as_good.items():
            assert values is None or framework.switches[name] in values


def test_a_variable_that_is_set_is_recorded_as_one_that_changes_numbers():
    prefixes = tuple(prefix for framework in FRAMEWORKS for prefix in framework.variables)
    for framework in FRAMEWORKS:
        for name in (*framework.switches, *framework.flags, *framework.threads, *framework.instructions):
            assert name.startswith(prefixes), name


def test_a_warning_names_the_operation():
    for framework in FRAMEWORKS:
        for pattern in framework.warnings:
            assert re.compile(pattern).groups == 1, pattern
