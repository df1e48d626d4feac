"""What runs read and wrote outside the project: inputs that changed, state that one run leaves for the next."""

from __future__ import annotations

import pytest

from deviate.observe.surroundings import Opened, OpenedFile, Span, Stamp, changed_inputs, kept_state

OLD, PATH = 5 * 10**9, "/data/points.bin"


def stamp(second: float, digest: str = "") -> Stamp:
    return Stamp(8, int(second * 1e9), digest)


def opened(index: int, path: str = PATH, **file: object) -> Opened:
    """Return what a run opened that went on from second 100 + 10 * index for 5 seconds."""
    begun = 100.0 + 10 * index
    return Opened(f"as-is-{index}", Span(begun, begun + 5), {path: OpenedFile(**file)}, {}, complete=True)


@pytest.mark.parametrize(
    ("first", "second", "changed"),
    [
        (stamp(5), stamp(5), False),
        (stamp(5, "whole a"), stamp(7, "whole a"), False),
        (stamp(5, "whole a"), stamp(7, "whole b"), True),
        (stamp(5, "ends a"), stamp(7, "ends a"), True),
        (stamp(5, "ends a"), stamp(5, "ends b"), True),
        (stamp(5), stamp(7), True),
        (stamp(5), Stamp(9, OLD), True),
    ],
)
def test_content_decides_and_time_where_it_was_not_read(first, second, changed):
    runs = [opened(0, read=first), opened(1, read=second)]
    assert [each.groups for each in changed_inputs(runs)] == ([[["as-is-0"], ["as-is-1"]]] if changed else [])
    assert kept_state(runs) == []


def test_what_each_run_reads_and_leaves_otherwise_is_state():
    runs = [
        opened(0, written=True, left=stamp(104, "whole a")),
        opened(1, read=stamp(104), written=True, left=stamp(114, "whole b")),
        opened(2, read=stamp(114), left=stamp(124, "whole c")),
    ]
    (kept,) = kept_state(runs)
    assert (kept.path, kept.writers, kept.readers) == (PATH, ["as-is-0", "as-is-1"], ["as-is-1", "as-is-2"])
    assert changed_inputs(runs, {kept.path}) == []


def test_what_is_written_once_is_a_download_unless_it_is_a_result_that_its_run_did_not_read():
    def once(path: str) -> list[Opened]:
        return [opened(0, path, written=True, left=stamp(104)), opened(1, path, read=stamp(104), left=stamp(104))]

    assert kept_state(once("/home/me/.cache/words.txt")) == []
    assert [each.readers for each in kept_state(once("/home/me/run/checkpoint.pt"))] == [["as-is-1"]]


def test_what_every_run_writes_again_alike_and_what_it_makes_for_itself_is_no_state():
    alike = [opened(index, read=stamp(94 + 10 * index), left=stamp(104 + 10 * index, "whole a")) for index in range(3)]
    assert kept_state(alike) == []
    own = [opened(index, f"/tmp/{index}", read=stamp(101 + 10 * index), written=True) for index in range(2)]
    assert kept_state(own) == []
    assert changed_inputs(own) == []


def test_sums_over_a_folder_are_compared_where_the_same_files_were_read():
    def runs(second: tuple[int, int, int]) -> list[Opened]:
        return [
            opened(0)._replace(files={}, folders={"/data": (3, 1, 1)}),
            opened(1)._replace(files={}, folders={"/data": second}),
        ]

    assert [each.path for each in changed_inputs(runs((3, 1, 2)))] == ["/data"]
    assert changed_inputs(runs((3, 2, 2))) == []
    assert changed_inputs(runs((3, 1, 1))) == []
