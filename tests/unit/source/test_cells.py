"""``[[experiment]]``: every cell with its name and command, every mistake with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from deviate.core.errors import BadConfig
from deviate.source.cells import read_cells

TABLE = """\
[[experiment]]
name = "digits"
command = "python train.py --lr {lr} --width={width}"
"""

GRID = """\
[experiment.grid]
lr = [0.1, 0.001]
width = [32, 64]
"""


@pytest.fixture
def cells(tmp_path):
    def read(text, name=None):
        (tmp_path / "deviate.toml").write_text(text)
        return read_cells(tmp_path, name)

    return read


def test_a_grid_has_a_cell_for_each_combination(cells):
    found = cells(TABLE + GRID)
    assert [cell.name for cell in found] == [
        "digits@lr=0.1,width=32", "digits@lr=0.1,width=64", "digits@lr=0.001,width=32", "digits@lr=0.001,width=64",
    ]  # fmt: skip
    assert found[1].command == ["python", "train.py", "--lr", "0.1", "--width=64"]
    assert found[1].settings == {"lr": 0.1, "width": 64}
    assert found[1].label == "lr=0.1,width=64"


def test_a_table_without_a_grid_is_one_experiment(cells):
    (cell,) = cells('[[experiment]]\nname = "base"\ncommand = "python train.py --json {{a}}"\n')
    assert (cell.name, cell.command) == ("base", ["python", "train.py", "--json", "{a}"])


def test_environment_and_interpreter_are_words_of_the_command(cells):
    more = 'python = "/opt/py/bin/python"\nenvironment = { WIDTH = "{width}", MODE = "a b" }\n'
    found = cells(TABLE.replace("--width={width}", "") + more + GRID)
    assert found[0].command == ["env", "WIDTH=32", "MODE=a b", "/opt/py/bin/python", "train.py", "--lr", "0.1"]


def test_evaluations_have_the_settings_too(cells):
    text = TABLE + '[[experiment.evaluate]]\ncommand = "python evaluate.py --width {width}"\n' + GRID
    assert [cell.entry.evaluate[0].command for cell in cells(text)][:2] == [
        "python evaluate.py --width 32", "python evaluate.py --width 64",
    ]  # fmt: skip


def test_a_value_with_a_slash_or_a_space_names_and_stays_one_word(cells):
    text = TABLE + '[experiment.grid]\nlr = ["data/my set"]\nwidth = [1]\n'
    (cell,) = cells(text)
    assert cell.name == "digits@lr=data-my-set,width=1"
    assert cell.command[3] == "data/my set"


def test_one_experiment_or_one_cell_can_be_named(cells):
    text = TABLE + GRID + '[[experiment]]\nname = "other"\ncommand = "python train.py"\n'
    assert len(cells(text)) == 5
    assert [cell.name for cell in cells(text, "other")] == ["other"]
    assert len(cells(text, "digits")) == 4
    assert [cell.name for cell in cells(text, "digits@lr=0.1,width=64")] == ["digits@lr=0.1,width=64"]


@pytest.mark.parametrize(
    ("text", "line", "said", "hint"),
    [
        (TABLE, 1, "{lr} stands for no key", "keys of [experiment.grid]: none"),
        (TABLE.replace("{width}", "1") + GRID, 1, "grid.width is used nowhere", "{width}"),
        (TABLE + GRID.replace("[32, 64]", "[]"), 1, "grid.width = []", "one value or more"),
        (TABLE + GRID.replace("[32, 64]", "[32, 32]"), 1, "two cells are named", "once"),
        (TABLE + GRID.replace("[32, 64]", '["a/b", "a b"]'), 1, "two cells are named", "differ"),
        (TABLE + 'vary = ["colour"]\n' + GRID, 1, "vary: ", ""),
        (TABLE.replace("digits", "a@b") + GRID, 1, "cannot name an experiment", "letters"),
        (TABLE.replace("train.py", "'train.py") + GRID, 1, "No closing quotation", "shell"),
        (TABLE + 'environment = { PYTHONPATH = "src" }\n' + GRID, 1, "PYTHONPATH is set by Deviate", "export"),
        (TABLE + GRID + TABLE + GRID, 7, "two experiments are named 'digits'", "name of its own"),
        (TABLE + 'colour = "red"\n' + GRID, 4, "experiment[0].colour", "keys allowed there: name, command, grid"),
        (TABLE + 'n = "3"\n' + GRID, 4, "experiment[0].n: Expected `int`", "keys allowed"),
        (TABLE + GRID.replace("0.001", "true"), 4, "experiment[0].grid", "lr = [0.1, 0.01]"),
        (TABLE + GRID.replace("[32, 64]", "32"), 4, "experiment[0].grid", "each key lists its values"),
        (TABLE + "environment = { MODE = 1 }\n" + GRID, 4, "experiment[0].environment", "variables are texts"),
        (TABLE + GRID + '[[experiment.evaluate]]\ncomand = "x"\n', 8, "experiment[0].evaluate[0]", "command, name"),
        ('[[experiment]]\nname = "a"\n', 1, "experiment[0]: Object missing required field `command`", "command"),
        ("experiment = 3\n", 1, "experiment: Expected `array`", "name, command"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_to_type(cells, text, line, said, hint):
    with pytest.raises(BadConfig) as caught:
        cells(text)
    assert f"deviate.toml:{line}: " in caught.value.message
    assert said in caught.value.message
    assert hint in caught.value.hint


@examples(60)
@given(st.text("abzéЖ09._+~-@ /:", max_size=8))
def test_a_name_is_taken_if_it_is_what_the_hint_allows(tmp_path_factory, name):
    folder = tmp_path_factory.mktemp("cells")
    (folder / "deviate.toml").write_text(TABLE.replace("digits", name) + GRID)
    allowed = bool(name) and all(each.isalnum() or each in "._+~-" for each in name) and name[0] not in ".-"
    if allowed:
        assert read_cells(folder)[0].name.startswith(name)
        return
    with pytest.raises(BadConfig) as refused:
        read_cells(folder)
    assert "letters, digits and . _ + ~ -" in refused.value.hint
