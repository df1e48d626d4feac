"""Word lists are files, one word a line."""

from collections import Counter
from pathlib import Path

import pytest

from deviate.lexicon import words as lexicon
from deviate.lexicon.words import is_counting, word_lists

FILES = sorted(lexicon.LISTS.glob("*.txt"))


def test_a_list_is_a_section_and_a_remark_is_none_of_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "LISTS", tmp_path)
    (tmp_path / "some.txt").write_text("# Of what.\n\n[first list]\na\nb c\n\n# More.\n[second]\na\n")
    lists = word_lists("some")
    assert lists == {"first list": frozenset({"a", "b c"}), "second": frozenset({"a"})}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lists_are_sorted_without_repeats_and_are_used(path: Path) -> None:
    modules = lexicon.LISTS.parents[1].rglob("*.py")
    assert any(f'word_lists("{path.stem}")' in module.read_text(encoding="utf-8") for module in modules)
    blocks = path.read_text(encoding="utf-8").split("\n[")[1:]
    for block in blocks:
        name, _, words = block.partition("]\n")
        listed = [word for word in words.splitlines() if word and not word.startswith("#")]
        assert listed == sorted(set(listed)), name
    names = Counter(block.partition("]")[0] for block in blocks)
    assert set(names.values()) == {1}


def test_a_letter_after_a_number_counts_nothing() -> None:
    assert not is_counting("r5i")
    assert not is_counting("r10i")
    assert is_counting("r_i")


def test_a_rate_counts_nothing() -> None:
    assert not is_counting("tokens_per_sec")
    assert is_counting("steps_per_epoch")
