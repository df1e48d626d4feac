"""What a user types and what a project is called does nothing to the terminal it is printed on."""

import gzip
import sys

import pytest
from cli_tool import TRAIN, deviate


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "train"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    "words",
    [("show", "\x1b[31mred\x07"), ("run", "--name", "a\x1b]0;x\x07", "--", "python", "train.py"),
     ("run", "--", "py\u202ethon"), ("report", "x", "--format", "\x9b1m"), ("plan", "--\x1b[2J"),
     ("extract", "\x1b[2J.py"),
     ("run", "-n", "\x1b[2J", "--", "x"), ("check", "a\rb", "c")],
)  # fmt: skip
def test_errors_are_printable(project, words):
    done = deviate(*words)
    assert done.status == 2
    assert all(line.isprintable() for line in done.err.splitlines())


def test_extract_and_show_print_the_source_without_its_escapes(project):
    (project / "train.py").write_text(TRAIN + 'print(f"\x1b[31mfinal accuracy {accuracy}")  # \u202e\n')
    (project / "note\x1b[31m.pt").write_text("")
    deviate("run", "-n", "1", "--", sys.executable, "train.py")
    for words in (("extract", "train.py", "-v"), ("show", "train"), ("report", "train"), ("list",)):
        done = deviate(*words)
        assert done.status == 0
        assert all(line.isprintable() for line in done.out.splitlines())


SECRET = "s3cr3t-value"

WITH_SECRET = (
    "import os\n"
    + TRAIN.replace("epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 3", "epochs = 2")
    + (
        "assert sys.argv[1:] == ['--api-key', 's3cr3t' + '-value']\n"
        "assert os.environ['MY_TOKEN'] == 'env-' + 's3cr3t'\n"
        "assert open('.env').read() == 'A=file-' + 's3cr3t'\n"
        "print('key', sys.argv[2], 'token', os.environ['MY_TOKEN'], 'hub', 'hf_' + 'x' * 30)\n"
        "if os.path.exists(os.environ['FAIL']):\n    sys.exit('wrong key ' + sys.argv[2])\n"
    )
)


def test_secrets_reach_the_runs_and_no_file_of_the_experiment(project, monkeypatch, tmp_path):
    (project / "train.py").write_text(WITH_SECRET)
    (project / ".env").write_text("A=file-s3cr3t")
    monkeypatch.setenv("MY_TOKEN", "env-s3cr3t")
    monkeypatch.setenv("FAIL", str(tmp_path / "fail"))
    command = ["--", sys.executable, "train.py", "--api-key", SECRET]
    assert deviate("run", "-n", "1", *command).status == 0
    (tmp_path / "fail").touch()
    failed = deviate("run", "-n", "2", *command)
    assert "wrong key ***" in failed.err + failed.out
    (tmp_path / "fail").unlink()
    done = deviate("run", "-n", "3", "--retry-failed", "--json", *command)
    assert done.json["experiment"] == "train"
    assert [run["status"] for run in done.json["variants"][0]["runs"]] == ["completed"] * 3
    # The key of another day makes no other experiment.
    (project / "train.py").write_text(WITH_SECRET)
    stored = [path for path in (project / ".deviate").rglob("*") if path.is_file() and not path.is_symlink()]
    keys = (b"s3cr3t-value", b"env-s3cr3t", b"file-s3cr3t", b"hf_x")
    assert not [path for path in stored if any(key in path.read_bytes() for key in keys)]
    # Whoever reports later, or elsewhere, does not know them.
    monkeypatch.delenv("MY_TOKEN")
    assert deviate("export", "train", "-o", tmp_path / "train.tar.gz").status == 0
    assert not any(key in gzip.decompress((tmp_path / "train.tar.gz").read_bytes()) for key in keys)
    page = deviate("report", "train", "--format", "html").out
    assert "key ************ token **********" in page
    assert not any(key.decode() in page + deviate("report", "train", "--format", "json").out for key in keys)
    for words in (
        ("show", "train"),
        ("show", "train", "--json"),
        ("list", "--json"),
        ("report", "train", "--format", "html"),
    ):
        shown = deviate(*words)
        assert SECRET not in shown.out
        assert "***" in shown.out


def test_another_password_is_the_same_command_and_another_setting_is_not(project):
    def name_of(*words):
        return deviate("run", "-n", "1", "--json", "--", sys.executable, "train.py", "2", *words).json["experiment"]

    assert name_of("--token", "first-one") == name_of("--token", "second-one") == "train"
    assert name_of("--token", "first-one", "--pad-token", "x") == "train-2"
