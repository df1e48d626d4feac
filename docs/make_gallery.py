"""Make the reports that the site links: python docs/make_gallery.py [RUNS].

Each is made by the commands below in a copy of examples/digits_mlp and written to docs/gallery, which the site copies
and git ignores. With 8 runs this takes some minutes on two cores.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
RUNS = sys.argv[1] if len(sys.argv) > 1 else "8"

TRAIN = ("--", "python", "train.py", "--epochs", "5")

#: The reports name the command as people type it: without the path of this interpreter.
ENVIRONMENT = {**os.environ, "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}

#: Trainings, then the page that each command writes.
MADE = (
    ("run", "-n", RUNS, "--name", "baseline", *TRAIN),
    ("run", "-n", RUNS, "--name", "slower", *TRAIN, "--lr", "1e-3"),
    ("run", "-n", RUNS, "--name", "why", "--vary", "arms", "--vary", "sources", *TRAIN),
)
SHOWN = {
    "baseline.html": ("report", "baseline"),
    "why.html": ("report", "why"),
    "comparison.html": ("compare", "baseline", "slower", "--metric", "test acc"),
    "gate.html": ("check", "slower", "--against", "baseline", "--metric", "test acc", "--max-drop", "0.5"),
    "plan.html": ("plan", "baseline", "--metric", "test acc", "--difference", "0.5"),
}


def deviate(project: Path, *words: str) -> None:
    """Run a command; a gate that does not pass has its page all the same."""
    done = subprocess.run([sys.executable, "-m", "deviate", *words], cwd=project, env=ENVIRONMENT, check=False)
    if done.returncode > 1:
        sys.exit(done.returncode)


def main() -> None:
    """Write the reports."""
    GALLERY.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "digits_mlp"
        shutil.copytree(ROOT / "examples" / "digits_mlp", project, ignore=shutil.ignore_patterns(".deviate"))
        for words in MADE:
            deviate(project, *words)
        for page, words in SHOWN.items():
            deviate(project, *words, "-o", str(GALLERY / page))


if __name__ == "__main__":
    main()
