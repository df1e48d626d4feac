"""The user's word on which factor a draw is of: lines that moved, several on a line, mistakes."""

from __future__ import annotations

import pytest

from deviate.core.errors import BadConfig, BadOption
from deviate.core.experiment import Draw
from deviate.source.analysis import analyse_project
from deviate.source.config import read_config
from deviate.source.selection import apply_config, extract

SOURCE = """\
import numpy as np
import torch

noise = np.random.randn(3)
a, b = torch.rand(2), np.random.rand(2)
c = np.random.rand(4)

@torch.compile
def inside(x):
    return x + torch.randn(3)

many = [np.random.rand(4) for _ in range(9)]
inside(many)
mixed = my_library.mix(noise)
"""


@pytest.fixture
def draws(tmp_path):
    (tmp_path / "t.py").write_text(SOURCE)

    def apply(toml: str) -> list[Draw]:
        (tmp_path / "deviate.toml").write_text(toml)
        findings = analyse_project(tmp_path, tmp_path / "t.py")
        return apply_config(findings, read_config(tmp_path), tmp_path).draws

    return apply


def entry(line: int, factor: str = "augment", more: str = "", file: str = "t.py") -> str:
    return f"[[draw]]\nfile = '{file}'\nline = {line}\nfactor = '{factor}'\n{more}\n"


def by_hand(draws: list[Draw]) -> list[tuple[int, str, str, str]]:
    return [(draw.line, draw.call, draw.factor, draw.why) for draw in draws if draw.by_hand]


def test_the_factor_is_the_one_that_was_set(draws):
    set_draws = draws(entry(4, "layers"))
    assert by_hand(set_draws) == [(4, "numpy.random.randn", "layers", "set in deviate.toml")]
    assert len(set_draws) == len(draws(""))


def test_other_can_be_set_too(draws):
    assert by_hand(draws(entry(4, "other")))[0][2:] == ("other", "set in deviate.toml")


@pytest.mark.parametrize("call", ["torch.rand", "np.random.rand", "numpy.random.rand"])
def test_the_call_tells_draws_on_a_line_apart(draws, call):
    ((line, name, *_),) = by_hand(draws(entry(5, more=f"call = '{call}'")))
    assert (line, name.startswith("torch")) == (5, call == "torch.rand")


def test_a_draw_whose_line_moved_is_found_by_its_call(draws):
    assert by_hand(draws(entry(2, more="call = 'numpy.random.randn'")))[0][0] == 4


def test_a_draw_in_a_comprehension_is_wrapped_once_its_factor_is_set(draws):
    ((line, *_),) = by_hand(set_draws := draws(entry(12)))
    (draw,) = [draw for draw in set_draws if draw.by_hand]
    assert line == 12
    assert (draw.span.column, draw.span.end_column) == (8, 22)


def test_a_call_that_the_analysis_does_not_know_is_added(draws):
    set_draws = draws(entry(14, more="call = 'my_library.mix'"))
    (draw,) = [draw for draw in set_draws if draw.by_hand]
    assert (draw.line, draw.call, draw.factor, draw.function) == (14, "my_library.mix", "augment", "<module>")
    assert (draw.span.column, draw.span.end_column) == (8, 22)


@pytest.mark.parametrize(
    ("toml", "message", "hint"),
    [
        (entry(2), "deviate.toml:1: no draw on line 2 of t.py", "deviate extract"),
        (entry(6, more="call = 'randn_like'"), "no call of 'randn_like' on line 6", "deviate extract"),
        (entry(5), "line 5 of t.py has several draws: numpy.random.rand, torch.rand", 'call = "numpy.random.rand"'),
        (entry(4) + entry(4), "deviate.toml:6: draw[0] sets the factor of the same call", "delete one"),
        (entry(4, file="gone.py"), "cannot read", "relative to the project"),
        (entry(4, "impl"), "draw[0].factor: Invalid enum value 'impl'", "init, shuffle, augment, layers, other, data"),
        (entry(4, "seed"), "deviate.toml:4: draw[0].factor: Invalid enum value 'seed'", "values allowed there"),
        (entry(4, more="lines = 3"), "unknown field `lines`", "keys allowed there: file, line, factor, call"),
        ("[[draw]]\nfile = 't.py'\nfactor = 'init'\n", "missing required field `line`", "keys allowed there"),
    ],
)
def test_a_bad_entry_is_refused_with_its_line(draws, toml, message, hint):
    with pytest.raises(BadConfig) as refused:
        draws(toml)
    assert message in str(refused.value)
    assert hint in refused.value.hint


def test_code_that_a_compiler_reads_cannot_be_set(tmp_path):
    source = "import torch\ndef f(x):\n    return x + torch.randn(3)\ng = torch.compile(f)\ng(1)\n"
    (tmp_path / "t.py").write_text(source)
    (tmp_path / "deviate.toml").write_text(entry(3))
    findings = analyse_project(tmp_path, tmp_path / "t.py")
    with pytest.raises(BadConfig, match="a compiler reads the code"):
        apply_config(findings, read_config(tmp_path), tmp_path)


def option(tmp_path, *factors: str, toml: str = "") -> list[Draw]:
    (tmp_path / "t.py").write_text(SOURCE)
    (tmp_path / "deviate.toml").write_text(toml)
    return extract(tmp_path, "t.py", factors).draws


def test_an_option_sets_a_factor_as_the_file_does(tmp_path):
    assert by_hand(option(tmp_path, "t.py:4=layers", "./t.py:6=data")) == [
        (4, "numpy.random.randn", "layers", "set by --set factor"),
        (6, "numpy.random.rand", "data", "set by --set factor"),
    ]


def test_an_option_has_the_last_word(tmp_path):
    found = option(tmp_path, "t.py:4=layers", toml=entry(4, "init") + entry(6, "init"))
    assert [(line, factor) for line, _, factor, _ in by_hand(found)] == [(4, "layers"), (6, "init")]


@pytest.mark.parametrize(
    ("factors", "message", "hint"),
    [
        (["t.py:4"], "--set factor=t.py:4: expected FILE:LINE=NAME", "--set factor=train.py:52=data"),
        (["t.py:4=noise"], "found 'noise'", "one of init, shuffle, augment, layers, other, data"),
        (["t.py:4=impl"], "found 'impl'", "one of init"),
        (["t.py:2=data"], "--set factor=t.py:2=data: no draw on line 2 of t.py", "deviate extract"),
        (["t.py:5=data"], "line 5 of t.py has several draws", "in deviate.toml under [[draw]]"),
        (["gone.py:5=data"], "cannot read", "relative to the project"),
        (["t.py:4=data", "t.py:4=init"], "--set factor=t.py:4=data sets the factor of the same call", "delete one"),
    ],
)
def test_a_bad_option_is_refused_with_a_hint(tmp_path, factors, message, hint):
    with pytest.raises(BadOption) as refused:
        option(tmp_path, *factors)
    assert message in str(refused.value)
    assert hint in refused.value.hint


@pytest.mark.parametrize("name", ["../lib/away.py", "absolute"])
def test_a_file_outside_the_project_is_named_from_there_or_from_the_root(tmp_path, monkeypatch, name):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "away.py").write_text("import numpy as np\nvalue = np.random.rand(3)\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "t.py").write_text("from away import value\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    file = str(tmp_path / "lib" / "away.py") if name == "absolute" else name
    (draw,) = extract(tmp_path / "project", "t.py", [f"{file}:2=augment"]).draws
    assert (draw.factor, draw.file) == ("augment", (tmp_path / "lib" / "away.py").as_posix())
