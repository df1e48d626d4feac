"""Pages of the site that are written elsewhere: the README is its home, each example's README a page, and so on.

A hook of MkDocs, named in mkdocs.yml.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]

#: Files beside the docs, and their pages.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}

#: Reports that docs/make_screens.py writes: what each shows, and the command.
REPORTS = {
    "baseline": ("How much do eight runs of one recipe differ?", "deviate report baseline"),
    "why": ("Why do they differ: each source alone, and all of them", "deviate report why"),
    "comparison": ("Is one recipe better than the other?", "deviate compare slower baseline --metric 'test acc'"),
    "gate": (
        "Did training get worse? A gate in continuous integration",
        "deviate check slower --against baseline --metric 'test acc' --max-drop 0.5",
    ),
    "plan": ("How many runs does a difference take?", "deviate plan baseline --metric 'test acc' --difference 0.5"),
}

_LINK = re.compile(r"(\]\()([^)#\s:]+)")

#: A link of a page to the README of an example, which is a page of the site.
_EXAMPLE = re.compile(r"(\]\((?:\.\./)*)\.\./examples/(\w+)/README\.md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of files beside the docs."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=_page(ROOT / source)))
    files.append(File.generated(config, "gallery.md", content=_gallery()))
    examples = ROOT / "examples"
    files.append(File.generated(config, "examples/index.md", content=_page(examples / "README.md")))
    for readme in sorted(examples.glob("*/README.md")):
        files.append(File.generated(config, f"examples/{readme.parent.name}.md", content=_page(readme)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to examples lead to their pages."""
    return _EXAMPLE.sub(r"\1examples/\2.md", markdown)


def _gallery() -> str:
    """List the reports that are there."""
    made = {name: said for name, said in REPORTS.items() if (ROOT / "docs" / "gallery" / f"{name}.html").is_file()}
    lines = [f"- [{question}](gallery/{name}.html): `{command}`" for name, (question, command) in made.items()]
    without = "None is built into this copy of the site: `make screens` makes them, then `make docs`."
    about = "Each page is one file that needs no network. Click the mark of a run: it is marked in all charts."
    return "\n".join(["# Reports to look at", "", about if made else without, "", *lines, ""])


def _page(readme: Path) -> str:
    return _LINK.sub(lambda link: link[1] + _target(readme, link[2]), readme.read_text(encoding="utf-8"))


def _target(readme: Path, link: str) -> str:
    """Return where on the site a link of `readme` leads; a link that leads nowhere fails the strict build."""
    to = (readme.parent / link).resolve().relative_to(ROOT).as_posix()
    if to in PAGES:
        to = PAGES[to]
    elif to == "examples/README.md":
        to = "examples/index.md"
    elif to.startswith("examples/"):
        to = re.sub(r"/README\.md$", ".md", to)
    up = "" if readme.parent == ROOT else "../"
    return up + to.removeprefix("docs/")
