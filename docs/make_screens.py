"""Make the screens, pictures and reports that the docs show: python docs/make_screens.py [FOLDER].

They are of examples/digits_mlp. FOLDER keeps its experiments: those that are missing are trained there, and nothing
that is there is trained again. Without FOLDER all are trained in a temporary one, which takes a quarter of an hour on
two idle cores. Pictures of pages need chromium and chromedriver, and stay as they are without.
"""

import base64
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text
from site_pages import REPORTS

from deviate import api
from deviate.report.writers.html import render_html

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SCREENS, PICTURES, GALLERY = DOCS / "screens", DOCS / "images", DOCS / "gallery"

#: The grid that the pages show.
GRID = """\
[[experiment]]
name = "digits"
command = "python train.py --lr {lr} --batch-size {batch}"
n = 5

[experiment.grid]
lr = [0.001, 0.003, 0.01]
batch = [32, 128]
"""

#: Versions of a library and kinds of processor: environments, and grids over them, of examples/numpy_loop.
ENVIRONMENTS = """\
for version in 1.26.4 2.3.5; do
    python -m venv envs/$version && envs/$version/bin/pip install -q numpy==$version
done
"""
VERSIONS = """\
[[experiment]]
name = "versions"
command = "python spirals.py"
python = "envs/{numpy}/bin/python"
n = 5

[experiment.grid]
numpy = ["1.26.4", "2.3.5"]

[[experiment]]
name = "processors"
command = "python spirals.py"
n = 5
environment = { OPENBLAS_CORETYPE = "{core}" }

[experiment.grid]
core = ["Haswell", "Nehalem"]
"""

#: What is trained, by the name of a folder that it leaves.
TRAINED = {
    "baseline": "deviate run -n 8 --name baseline -- python train.py",
    "slower": "deviate run -n 8 --name slower -- python train.py --lr 1e-3",
    "why": "deviate run -n 8 --name why --vary sources -- python train.py",
    "digits@lr=0.01,batch=128": "deviate run --name digits",
}

#: Each screen and what is typed for it, in this order.
TYPED = {
    "extract": "deviate extract -- python train.py",
    "audit": "deviate audit --limit 300 -- python train.py",
    "report": "deviate report baseline",
    "why": "deviate report why",
    "compare": "deviate compare slower baseline --metric 'test acc'",
    "plan": "deviate plan baseline --metric 'test acc' --difference 0.5",
    "grid": "deviate compare digits --metric 'test acc'",
    "processors": "deviate compare processors@core=Haswell processors@core=Nehalem --metric 'test loss'",
    "versions": "deviate compare versions@numpy=1.26.4 versions@numpy=2.3.5 --metric 'final test accuracy'",
    "check": "deviate check slower --against baseline --metric 'test acc' --max-drop 0.5",
    "churn": "deviate check slower --against baseline --metric 'test acc' --max-drop 3 --set max_churn=10%",
    "paper": "deviate report baseline --metric 'test acc' --format neurips | tail -n +11 | head -20",
    "import": "deviate import baseline.csv --name imported --run-column run",
    "list": "deviate list",
}

#: Files that a screen needs, and what writes them.
WRITTEN = {"baseline.csv": "deviate report baseline --format csv -o baseline.csv"}

#: Pictures of pages: what they are of, width and height in pixels, and pixels of the picture for each.
SHOTS = {
    "report-first.png": ("baseline", 1280, 800, 1),
    "report-why.png": ("why", 1280, 800, 1),
    "report-phone.png": ("baseline", 360, 780, 2),
}

#: What tries edits of examples/numpy_loop, and the file that keeps what it printed.
LOOP, PRINTED = "python study.py", "study.txt"

#: Screens of the folder of versions.
ELSEWHERE = ("versions", "processors")

#: Columns of a screen, and colours of a picture.
WIDTH, COLOURS = 80, 256

#: A screen on a page.
SHOWN = re.compile(r"(?<=<!-- screen: )([\w-]+) -->\n.*?(?=<!-- end of screen -->)", re.DOTALL)


def typed(command: str, project: Path, **environment: str) -> str:
    """Return what a command prints, as people type it; a gate that does not pass prints its answer all the same."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    variables = {**os.environ, "PATH": path, "COLUMNS": str(WIDTH), **environment}
    done = subprocess.run(
        command, shell=True, cwd=project, env=variables, stdout=subprocess.PIPE, encoding="utf-8", check=False
    )
    if done.returncode > 1:
        sys.exit(f"{command}: status {done.returncode}")
    return done.stdout


def train(project: Path) -> None:
    """Train what is missing."""
    train_versions(project / "versions")
    train_loop(project / "loop")
    if not (project / "train.py").exists():
        ours = ROOT / "examples" / "digits_mlp"
        shutil.copytree(ours, project, ignore=shutil.ignore_patterns(".deviate"), dirs_exist_ok=True)
    (project / "deviate.toml").write_text(GRID)
    stored = project / ".deviate" / "experiments"
    for name, command in TRAINED.items():
        if not (stored / name).is_dir():
            typed(command, project)


def train_versions(project: Path) -> None:
    """Train with two versions of NumPy, which are fetched, and two sets of instructions."""
    if not (project / ".deviate").exists():
        shutil.copytree(ROOT / "examples" / "numpy_loop", project, ignore=shutil.ignore_patterns(".deviate"))
        typed(ENVIRONMENTS, project)
        (project / "deviate.toml").write_text(VERSIONS)
        typed("deviate run", project)


def train_loop(project: Path) -> None:
    """Try edits, one after the other."""
    if not (project / PRINTED).exists():
        shutil.copytree(ROOT / "examples" / "numpy_loop", project, ignore=shutil.ignore_patterns(".deviate"))
        (project / PRINTED).write_text(typed(LOOP, project))


def screens(project: Path) -> None:
    """Write what commands print, and show it on the pages."""
    # A later look at the same runs would be judged more strictly than the one that a reader makes.
    shutil.rmtree(project / ".deviate" / "looks", ignore_errors=True)
    shutil.rmtree(project / ".deviate" / "experiments" / "imported", ignore_errors=True)
    for name, command in WRITTEN.items():
        if not (project / name).exists():
            typed(command, project)
    SCREENS.mkdir(exist_ok=True)
    for name, command in TYPED.items():
        printed = typed(command, project / "versions" if name in ELSEWHERE else project).strip("\n")
        (SCREENS / f"{name}.txt").write_text(f"$ {command}\n{printed}\n")
    (SCREENS / "judge.txt").write_text(f"$ {LOOP}\n{(project / 'loop' / PRINTED).read_text()}")
    paste()


def paste() -> None:
    """Paste the screens into the pages that show them."""
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        page.write_text(SHOWN.sub(shown, text), encoding="utf-8")


def shown(screen: re.Match[str]) -> str:
    """Return a screen as a page shows it."""
    text = (SCREENS / f"{screen[1]}.txt").read_text(encoding="utf-8").rstrip("\n")
    return f"{screen[1]} -->\n```text\n{text}\n```\n"


def reports(project: Path) -> None:
    """Write the reports that the site links, which git ignores."""
    GALLERY.mkdir(exist_ok=True)
    for name, (_, command) in REPORTS.items():
        typed(f"{command} -o {GALLERY / name}.html", project)


def draw_terminal(project: Path) -> None:
    """Draw what `deviate run` prints at its end."""
    command = TYPED["report"]
    printed = typed(command, project, FORCE_COLOR="1", TTY_COMPATIBLE="1")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        drawn = Console(record=True, width=WIDTH, file=nowhere)
        drawn.print(Text.from_ansi(printed.strip("\n")))
    svg = drawn.export_svg(title=command)
    # No font is fetched when the picture is shown: the reader's own monospace font does.
    start, end = svg.index("@font-face"), svg.index("}", svg.rindex("@font-face")) + 1
    (PICTURES / "demo.svg").write_text(svg[:start] + svg[end:].replace("Fira Code, ", ""))


def draw_figure(project: Path) -> None:
    """Copy the figure that the tutorial shows."""
    with tempfile.TemporaryDirectory() as folder:
        typed(f"deviate report baseline --set figures={folder} --set figure_format=svg", project)
        shutil.copyfile(Path(folder) / "curves-test-acc.svg", PICTURES / "tutorial-test-acc.svg")


def draw_pages(project: Path) -> None:
    """Take pictures of the first screens of pages in a browser, if there is one."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        return
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    from browsing import Browser, start
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        started = start(chromium, driver, Path(folder) / "profile")
        try:
            browser = Browser(started, Path(folder))
            browser.command("Emulation.setScrollbarsHidden", hidden=True)
            for name, (experiment, width, height, scale) in SHOTS.items():
                page = render_html(api.load(experiment, project=project).report().page())
                browser.open(page, width=width, height=height)
                browser.draw_all()
                clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
                shot = browser.command("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
                picture = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
                picture.quantize(COLOURS, kmeans=3).save(PICTURES / name, optimize=True)
        finally:
            started.quit()


def main() -> None:
    """Make all of it."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(sys.argv[1] if len(sys.argv) > 1 else folder).resolve()
        train(project)
        for make in (screens, draw_terminal, draw_figure, reports, draw_pages):
            make(project)


if __name__ == "__main__":
    main()
