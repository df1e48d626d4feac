"""The page of docs about Python, typed line by line into an interpreter."""

import re
import subprocess
import sys
from pathlib import Path

from cli_tool import PREDICT, deviate

PAGE = Path(__file__).parents[2] / "docs" / "python.md"

#: Takes what the page types, and prints of each run another accuracy.
TRAIN = PREDICT.replace("int(sys.argv[1]) if len(sys.argv) > 1 else 3", "3").replace("test accuracy", "test acc")

#: What a program of the standard library keeps none of, as it is said.
WANTING = ("no run of train kept its weights", "there are no predictions to group: none were captured")

#: Types the lines of the page as a person does, and says which one is refused.
TYPED = """\
import sys
from deviate import DeviateError
names = {}
for line in sys.stdin.read().splitlines():
    try:
        exec(line, names)
    except DeviateError as error:
        print(f"{line.partition('  #')[0]} | {error.message}")
"""


def test_every_line_of_the_page_can_be_typed(tmp_path, monkeypatch):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    # Nothing depends on how many runs there are.
    block = re.sub(r"\bn=\d+", "n=2", block)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "sex.csv").write_text("id,sex\n" + "".join(f"case {x / 40:.3f},{'mf'[x % 2]}\n" for x in range(40)))
    monkeypatch.chdir(tmp_path)
    for name in ("baseline", "proposed"):
        command = ("run", "-n", 2, "--name", name, "--predictions", "preds.csv", "--", "python", "train.py")
        assert deviate(*command).status == 0
    done = subprocess.run(
        [sys.executable, "-c", TYPED], input=block, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    refused = [line for line in done.stdout.splitlines() if " | " in line]
    assert [line.partition(" | ")[2] for line in refused] == [WANTING[0], *WANTING]
