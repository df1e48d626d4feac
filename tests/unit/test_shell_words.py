"""Commands as they are shown: typed again in a shell, they have the same words, however a page lays them out."""

import os
import re
import subprocess

import pytest

from deviate.core.shell_words import typed_word
from deviate.report.escape import clean

WORDS = [
    "", " ", "   ", "a b", " a", "two\nlines", "two  blanks", "tab\t", "it's", "it's\n'", "\\n", "\\\n", "$HOME\n`x`",
    "\x1b[31mred", "\r", "\u2028", "\u202eabc", "\xa0", "é", "\udcff byte", "x\x01f", "!!\n", '"\n"', "%s\n", "{a,b}\n",
]  # fmt: skip


def test_words_are_typed_as_they_are():
    typed = "\n".join(f"printf '%s\\0' {typed_word(word)}" for word in WORDS)
    done = subprocess.run(["bash", "-c", os.fsencode(typed)], stdout=subprocess.PIPE, check=True)
    assert [os.fsdecode(each) for each in done.stdout.split(b"\0")[:-1]] == WORDS


@pytest.mark.parametrize("word", [*WORDS, "lone \ud800", "\0"])
def test_no_page_changes_a_typed_word(word):
    typed = typed_word(word)
    assert clean(typed) == typed
    assert re.sub(r"\s+", " ", typed) == typed or not word.strip()
