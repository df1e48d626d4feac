"""Calls of one name are sorted by the functions they reach, while their evaluation asks for callers again."""

from __future__ import annotations

import ast

from deviate.source.flow.program import CallsByName
from deviate.source.index import CallSite
from deviate.source.indexer import index_module


def test_calls_count_as_sorted_out_only_after_the_evaluation_that_looks_at_them():
    text = "first.train()\nsecond.train()\n"
    module = index_module("train.py", "train", ast.parse(text), text.splitlines())
    calls = CallsByName(list(module.unit.calls))
    during: list[bool] = []

    def targets(site: CallSite) -> list:
        calls.sort_out(lambda _: [])  # looks at all calls that are left
        during.append(calls.is_sorted_out)
        return [module.unit]

    assert not calls.is_sorted_out
    calls.sort_out(targets)
    assert during == [False]
    assert calls.is_sorted_out
    assert len(calls.reaching[module.unit]) == 1
