"""Programs that may read their own source files as data are recognised by the files that they name."""

from __future__ import annotations

import pytest

from deviate.instrument.read_sources import sources_read


def read(tmp_path, **texts):
    files = {f"{name}.py": text for name, text in texts.items()}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return sources_read(tmp_path, [*files, "data.csv"], {"train.py", "model.py"})


@pytest.mark.parametrize(
    "text",
    [
        "text = open(__file__).read()",
        "text = Path(__file__).resolve().read_text()",
        "corpus = load(join(dirname(__file__), 'model.py'))",
        "corpus = [path.read_text() for path in Path('.').glob('**/*.py')]",
        "corpus = [open(name).read() for name in os.listdir('.') if name.endswith('.py')]",
    ],
)
def test_a_program_that_names_source_files_may_read_them(tmp_path, text):
    assert read(tmp_path, data=text) == ["model.py", "train.py"]


@pytest.mark.parametrize(
    "text",
    [
        "sys.path.append(os.path.dirname(os.path.abspath(__file__)))",
        "root = Path(__file__).resolve().parent.parent",
        "name = os.path.basename(__file__)",
        "other = open('setup.py').read()",
        "text = open('model.txt').read()  # as model.py does",
        "model(",
        "exec(open('model.py').read())",
        "code = compile(open(__file__).read(), 'x', 'exec')",
    ],
)
def test_a_program_that_names_none_or_runs_what_it_reads_does_not(tmp_path, text):
    assert read(tmp_path, data=text) == []


def test_a_program_that_runs_texts_anywhere_reads_the_instrumented_ones(tmp_path):
    assert read(tmp_path, data="text = open(__file__).read()", config="exec(open(name).read())") == []
