"""What ``deviate`` prints of stored experiments, in every format, through the command line alone.

Each golden file has the command that makes it; see `golden` for how to write them anew, `workspaces` for the
experiments and `cli_output` for what is left out. Of a page in HTML its text and its charts' contents are kept.
"""

import contextlib
import re
import shlex

import pytest
from cli_output import deviate, forget_comparisons, page_text, plain, remembered
from golden import FOLDER, check_golden

import deviate as package

REPORTS = {
    "single/terminal-80.txt": "single",
    "single/report.json": "single --format json",
    "single/report.md": "single --format md",
    "usual/terminal-80.txt": "usual",
    "usual/terminal-120.txt": "usual",
    "usual/terminal-40.txt": "usual",
    "usual/terminal-colours.txt": "usual",
    "usual/report.md": "usual --format md",
    "usual/report.tex": "usual --format tex",
    "usual/report.json": "usual --format json",
    "usual/page.html.txt": "usual --format html",
    "usual/records.csv": "usual --format csv",
    "usual/summary.csv": "usual --format summary",
    "usual/curves.txt": "usual --set curves=true",
    "usual/metric.txt": "usual --metric 'val acc'",
    "usual/metric.tex": "usual --metric 'val acc' --metric 'test acc' --format tex",
    "usual/level.txt": "usual --level 0.99",
    "usual/level.md": "usual --level 0.99 --format md",
    "usual/aggregate.txt": "usual --set 'aggregate=val acc=best' --set 'aggregate=train loss=at 2'",
    "usual/aggregate-area.json": "usual --set 'aggregate=val acc=area' --format json",
    "usual/test-size.txt": "usual --set 'test_size=test acc=10000' --set 'test_size=val acc=500'",
    "usual/test-size.md": "usual --set 'test_size=test acc=10000' --format md",
    "usual/test-size.json": "usual --set 'test_size=test acc=10000' --format json",
    "usual/test-size-loss.txt": "usual --set 'test_size=train loss=100'",
    "usual/reach.txt": "usual --set 'reach=val acc>=90' --set 'reach=train loss'",
    "usual/reach.md": "usual --set 'reach=val acc>=90' --format md",
    "usual/reach.tex": "usual --set 'reach=val acc>=90' --format tex",
    "usual/reach.json": "usual --set 'reach=val acc>=90' --set 'reach=val acc>=96.8' --format json",
    "usual/reach.html.txt": "usual --set 'reach=val acc>=96.8' --set 'test_size=test acc=10000' --format html",
    "sources/terminal-80.txt": "sources",
    "sources/terminal-120.txt": "sources",
    "sources/report.md": "sources --format md",
    "sources/report.tex": "sources --format tex",
    "sources/report.json": "sources --format json",
    "sources/page.html.txt": "sources --format html",
    "sources/summary.csv": "sources --format summary",
    "sources/options.txt": "sources --level 0.9 --metric 'test acc' --set 'reach=val acc>=90' --set 'weak=test acc'",
    "arms/terminal-80.txt": "arms",
    "arms/terminal-120.txt": "arms",
    "arms/report.md": "arms --format md",
    "arms/report.tex": "arms --format tex",
    "arms/report.json": "arms --format json",
    "arms/page.html.txt": "arms --format html",
    "disturbed/terminal-80.txt": "disturbed",
    "disturbed/report.md": "disturbed --format md",
    "disturbed/report.json": "disturbed --format json",
    "troubled/terminal-80.txt": "troubled",
    "troubled/terminal-120.txt": "troubled",
    "troubled/terminal-colours.txt": "troubled",
    "troubled/report.md": "troubled --format md",
    "troubled/report.tex": "troubled --format tex",
    "troubled/report.json": "troubled --format json",
    "troubled/page.html.txt": "troubled --format html",
    "troubled/records.csv": "troubled --format csv",
    "troubled/summary.csv": "troubled --format summary",
    "lost/terminal-80.txt": "lost",
    "lost/report.md": "lost --format md",
    "lost/report.tex": "lost --format tex",
    "lost/report.json": "lost --format json",
    "lost/page.html.txt": "lost --format html",
    "unstarted/terminal-80.txt": "unstarted",
    "unstarted/report.md": "unstarted --format md",
    "collapsed/terminal-80.txt": "collapsed",
    "collapsed/weak.txt": "collapsed --set 'weak=test acc<50'",
    "collapsed/weak.md": "collapsed --set 'weak=test acc<50' --format md",
    "collapsed/weak.tex": "collapsed --set 'weak=test acc<50' --format tex",
    "collapsed/weak.json": "collapsed --set 'weak=test acc<50' --format json",
    "collapsed/weak.html.txt": "collapsed --set 'weak=test acc<50' --format html",
    "collapsed/weak-summary.csv": "collapsed --set 'weak=test acc<50' --format summary",
    "collapsed/weak-far.txt": "collapsed --set 'weak=val acc' --set 'reach=val acc>=90'",
    "reached/terminal-80.txt": "reached",
    "reached/report.md": "reached --format md",
    "reached/report.tex": "reached --format tex",
    "reached/report.json": "reached --format json",
    "unreached/terminal-80.txt": "unreached",
    "unreached/report.json": "unreached --format json",
    "imported/terminal-80.txt": "results",
    "imported/report.md": "results --format md",
    "imported/report.tex": "results --format tex",
    "imported/report.json": "results --format json",
    "imported/page.html.txt": "results --format html",
    "imported/finals.txt": "finals",
    "bad/no-experiment.txt": "nothing",
    "bad/no-metric.txt": "usual --metric 'f1'",
    "bad/format.txt": "usual --format docx",
    "bad/level.txt": "usual --level 95",
    "bad/weak.txt": "usual --set 'weak=f1<3'",
    "bad/test-size.txt": "usual --set 'test_size=test acc=many'",
}

COMPARISONS = {
    "two/terminal-80.txt": "baseline proposed",
    "two/terminal-120.txt": "baseline proposed",
    "two/terminal-60.txt": "baseline proposed",
    "two/terminal-100.txt": "baseline proposed",
    "two/tests-100.txt": "baseline proposed --metric 'test acc' -v --level 0.9 --level 0.95 --level 0.99",
    "paired/tests-100.txt": "pair-a pair-b --metric 'test acc' -v",
    "two/terminal-colours.txt": "baseline proposed",
    "two/comparison.md": "baseline proposed --format md",
    "two/comparison.tex": "baseline proposed --format tex",
    "two/comparison.json": "baseline proposed --json",
    "two/comparison.csv": "baseline proposed --format csv",
    "two/page.html.txt": "baseline proposed --format html",
    "two/alpha.txt": "baseline noisy --set alpha=0.01",
    "two/alpha.md": "baseline noisy --set alpha=0.01 --format md",
    "two/alpha.tex": "baseline noisy --set alpha=0.01 --format tex",
    "two/alpha.json": "baseline noisy --set alpha=0.01 --format json",
    "two/noisier.txt": "baseline noisy",
    "two/metric.txt": "baseline proposed --metric 'test acc' --level 0.9",
    "two/aggregate.txt": "baseline proposed --set 'aggregate=val acc=best' --set correction=bh",
    "two/margin.txt": "baseline proposed --margin 'test acc=3' --margin 'train loss=0.0001'",
    "two/margin.md": "baseline proposed --margin 'test acc=3' --format md",
    "two/margin.tex": "baseline proposed --margin 'test acc=3' --format tex",
    "two/margin.json": "baseline proposed --margin 'test acc=3' --format json",
    "paired/terminal-80.txt": "pair-a pair-b",
    "paired/terminal-120.txt": "pair-a pair-b",
    "paired/comparison.md": "pair-a pair-b --format md",
    "paired/comparison.tex": "pair-a pair-b --format tex",
    "paired/comparison.json": "pair-a pair-b --format json",
    "paired/comparison.csv": "pair-a pair-b --format csv",
    "paired/page.html.txt": "pair-a pair-b --format html",
    "paired/off.txt": "pair-a pair-b --pairing off",
    "paired/on.txt": "baseline proposed --pairing on",
    "paired/margin.txt": "pair-a pair-b --margin 'test acc=0.5'",
    "three/terminal-80.txt": "baseline proposed noisy",
    "three/terminal-120.txt": "baseline proposed noisy",
    "three/terminal-60.txt": "baseline proposed noisy",
    "three/comparison.md": "baseline proposed noisy --format md",
    "three/comparison.tex": "baseline proposed noisy --format tex",
    "three/comparison.json": "baseline proposed noisy --format json",
    "three/comparison.csv": "baseline proposed noisy --format csv",
    "three/page.html.txt": "baseline proposed noisy --format html",
    "three/options.txt": "baseline proposed worse --set alpha=0.01 --margin 'test acc=0.5' --set correction=bonferroni",
    "three/none.txt": "baseline proposed worse --set correction=none --metric 'test acc'",
    "two/weak.txt": "baseline proposed --set 'weak=test acc<96.5' --metric 'test acc'",
    "two/options.txt": "baseline proposed --set 'reach=val acc>=90' --set 'test_size=test acc=10000' "
    "--metric 'test acc'",
    "unknown/terminal-80.txt": "agent agent2",
    "unknown/comparison.md": "agent agent2 --format md",
    "unknown/comparison.json": "agent agent2 --format json",
    "unknown/direction.txt": "agent agent2 --set direction=reward=higher",
    "few/terminal-80.txt": "few baseline",
    "few/comparison.md": "few baseline --format md",
    "few/comparison.tex": "few baseline --format tex",
    "few/comparison.json": "few baseline --format json",
    "few/page.html.txt": "few baseline --format html",
    "few/one.txt": "single few",
    "variants/terminal-80.txt": "sources:init sources:shuffle",
    "variants/identical.txt": "arms:algo arms:control",
    "troubled/terminal-80.txt": "troubled baseline --set 'match=val_acc|top-1 [bold]=test acc'",
    "troubled/comparison.json": "troubled troubled:control --format json",
    "imported/terminal-80.txt": "results finals --set 'match=val acc=top1'",
    "bad/one-side.txt": "baseline",
    "bad/no-common.txt": "agent baseline",
    "bad/margin.txt": "baseline proposed --margin 'test acc=-1'",
    "bad/alpha.txt": "baseline proposed --set alpha=5",
}

GATES = {
    "pass/terminal-80.txt": "proposed --against baseline --metric 'test acc' --max-drop 0.5",
    "pass/terminal-120.txt": "proposed --against baseline --metric 'test acc' --max-drop 0.5",
    "pass/terminal-60.txt": "proposed --against baseline --metric 'test acc' --max-drop 0.5",
    "pass/terminal-100.txt": "proposed --against baseline --metric 'test acc' --max-drop 0.5",
    "pass/gate.json": "proposed --against baseline --metric 'test acc' --max-drop 0.5 --json",
    "pass/relative.txt": "proposed --against baseline --metric 'test acc' --max-drop 2% --set alpha=0.01",
    "pass/paired.txt": "pair-b --against pair-a --metric 'test acc' --max-drop 0.1",
    "pass/paired.json": "pair-b --against pair-a --metric 'test acc' --max-drop 0.1 --json",
    "fail/terminal-80.txt": "worse --against baseline --metric 'test acc' --max-drop 0.2",
    "fail/terminal-60.txt": "worse --against baseline --metric 'test acc' --max-drop 0.2",
    "fail/terminal-colours.txt": "worse --against baseline --metric 'test acc' --max-drop 0.2",
    "fail/gate.json": "worse --against baseline --metric 'test acc' --max-drop 0.2 --json",
    "fail/no-drop.txt": "worse --against baseline --metric 'test acc' --metric 'train loss'",
    "fail/several.txt": "worse --against proposed --max-drop 'val acc=0.3' --max-drop 'train loss=10%'",
    "fail/several.json": "worse --against proposed --max-drop 'val acc=0.3' --max-drop 'train loss=10%' --json",
    "inconclusive/terminal-80.txt": "noisy --against baseline --metric 'test acc' --max-drop 0.5",
    "inconclusive/gate.json": "noisy --against baseline --metric 'test acc' --max-drop 0.5 --json",
    "inconclusive/passes.txt": "noisy --against baseline --metric 'test acc' --max-drop 0.5 --set inconclusive=pass",
    "inconclusive/few.txt": "few --against baseline --metric 'test acc' --max-drop 0.5",
    "inconclusive/one.json": "single --against baseline --metric 'test acc' --max-drop 0.5 --json",
    "pass/gate.md": "proposed --against baseline --metric 'test acc' --max-drop 0.5 -o gate.md",
    "fail/several.md": "worse --against proposed --max-drop 'val acc=0.3' --max-drop 'train loss=10%' -o gate.md",
    "fail/several.tex": "worse --against proposed --max-drop 'val acc=0.3' --max-drop 'train loss=10%' -o gate.tex",
    "fail/page.html.txt": "worse --against proposed --max-drop 'val acc=0.3' --max-drop 'train loss=10%' -o gate.html",
    "fail/weak.txt": "worse --against baseline --metric 'test acc' --max-drop 5 --set 'weak=test acc<95.3'",
    "bad/no-direction.txt": "agent --against agent2 --metric reward --max-drop 1",
    "bad/no-metric.txt": "worse --against baseline --metric f1 --max-drop 1",
}

JUNIT = {
    "pass/junit.xml": "proposed --against baseline --metric 'test acc' --max-drop 0.5",
    "fail/junit.xml": "worse --against proposed --max-drop 'val acc=0.3' --max-drop 'train loss=10%'",
    "inconclusive/junit.xml": "noisy --against baseline --metric 'test acc' --max-drop 0.5",
    "inconclusive/passes.xml": "noisy --against baseline --metric 'test acc' --max-drop 0.5 --set inconclusive=pass",
}

ASKED = "--set sd=0.5 --difference 0.4 --set sd_ratio=1.5"
PLANS = {
    "free/terminal-80.txt": "",
    "free/plan.json": "--json",
    "free/options.txt": "--set sd=0.5 --set sd_ratio=1.5 --set precision=0.2 --set alpha=0.01 --set power=0.9 "
    "--set seconds=3600",
    "free/all.txt": f"{ASKED} --set precision=0.2 -n 5 --set seconds=60 --set tests=4",
    "free/all.json": f"{ASKED} --set precision=0.2 -n 5 --set seconds=60 --set tests=4 --json",
    "pilot/terminal-80.txt": "usual",
    "pilot/terminal-120.txt": "usual",
    "pilot/difference-60.txt": "usual --difference 0.5",
    "pilot/difference-100.txt": "usual --difference 0.5",
    "pilot/terminal-colours.txt": "usual",
    "pilot/plan.json": "usual --json",
    "pilot/metric.txt": "sources:init --metric 'val acc' --difference 0.5 -n 10",
    "pilot/metric.json": "sources:init --metric 'val acc' --difference 0.5 -n 10 --json",
    "pilot/plan.md": "usual --difference 0.5 -o plan.md",
    "pilot/plan.tex": "usual --difference 0.5 -o plan.tex",
    "pilot/page.html.txt": "usual --difference 0.5 -o plan.html",
    "pilot/options.txt": "usual --set 'weak=test acc<96.5' --set 'test_size=test acc=10000'",
    "bad/one-run.txt": "single",
    "bad/equal.txt": "arms:control",
    "bad/sd.txt": "--set sd=-1",
}

OTHERS = {
    "list/list.txt": "list",
    "list/list.json": "list --json",
    "show/usual.txt": "show usual",
    "show/usual.json": "show usual --json",
    "show/sources.txt": "show sources",
    "show/troubled.txt": "show troubled",
    "show/troubled.json": "show troubled --json",
    "show/imported.txt": "show results",
    "show/imported.json": "show results --json",
    "extract/metrics.txt": "extract train.py",
    "extract/metrics.json": "extract train.py --json",
    "extract/all.txt": "extract train.py -v",
    "extract/diff.txt": "extract train.py --diff",
    "why/arms-60.txt": "why arms",
    "why/arms-80.txt": "why arms",
    "why/arms-100.txt": "why arms",
    "why/sources-60.txt": "why sources",
    "why/sources-80.txt": "why sources",
    "why/sources-100.txt": "why sources",
}

GRIDS = {
    **{f"grid/map-{width}.txt": "compare digits" for width in (60, 80, 100)},
    # A table that no terminal shows is as wide as it is.
    "grid/list-100.txt": "list",
    "grid/alone-100.txt": "",
}

OUTPUTS = {
    **{f"report/{name}": f"report {words}" for name, words in REPORTS.items()},
    **{f"comparison/{name}": f"compare {words}" for name, words in COMPARISONS.items()},
    **{f"gate/{name}": f"check {words}" for name, words in GATES.items()},
    **{f"plan/{name}": f"plan {words}" for name, words in PLANS.items()},
    **OTHERS,
}


@pytest.fixture(scope="module", autouse=True)
def _quickly():
    with remembered():
        yield


def width_of(name):
    return int(next(iter(re.findall(r"-(\d+)\.txt", name)), 80))


@pytest.mark.parametrize("name", GRIDS)
def test_what_is_said_of_a_grid_is_as_it_was_and_has_room(grid, name):
    text = deviate(grid, *shlex.split(GRIDS[name]), width=width_of(name))
    assert max(map(len, text.splitlines())) <= width_of(name)
    check_golden(name, text)


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.usefixtures("imported")
def test_output_is_as_it_was(project, name):
    width = width_of(name)
    text = deviate(project, *shlex.split(OUTPUTS[name]), width=width, colours="-colours" in name)
    check_golden(name, page_text(text) if name.endswith(".html.txt") else text)


@pytest.mark.parametrize("name", JUNIT)
def test_junit_file_is_as_it_was(project, tmp_path, name):
    path = tmp_path / "junit.xml"
    deviate(project, "check", *shlex.split(JUNIT[name]), "-o", str(path))
    check_golden(f"gate/{name}", path.read_text())


@pytest.mark.parametrize("name", ["curves.txt", "finals.json"])
def test_import_says_what_it_said(imported, name):
    check_golden(f"import/{name}", imported[name])


FILES = {
    "report/usual/file.txt": "report usual",
    "comparison/two/file.txt": "compare baseline proposed",
    "comparison/three/file.txt": "compare baseline proposed noisy",
}


@pytest.mark.parametrize("name", FILES)
def test_file_is_as_it_was(project, tmp_path, name):
    path = tmp_path / "file.txt"
    deviate(project, *shlex.split(FILES[name]), "-o", str(path), width=33)
    check_golden(name, path.read_text())


#: Reports on a screen of their own, those with failures and warnings among them.
SCREENED = ("arms", "collapsed", "disturbed", "imported", "lost", "reached", "single", "sources", "troubled", "usual")

#: What one question shows.
SCREENS = (
    *(f"comparison/{name}/terminal-80.txt" for name in ("few", "imported", "paired", "three", "two", "unknown")),
    *(f"comparison/two/{name}.txt" for name in ("alpha", "noisier", "terminal-120")),
    *(f"gate/{name}/terminal-80.txt" for name in ("pass", "fail", "inconclusive")),
    *(f"report/{name}/terminal-80.txt" for name in SCREENED),
    "plan/free/terminal-80.txt",
    "plan/pilot/metric.txt",
    "plan/pilot/terminal-80.txt",
)


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_short_and_keeps_interval(name):
    lines = [line for line in (FOLDER / name).read_text().splitlines() if line and not line.startswith("==>")]
    assert len(lines) <= (22 if name.startswith("report") else 17)
    assert max(map(len, lines)) <= (120 if "-120" in name else 80)
    text = "\n".join(lines)
    assert not name.startswith(("comparison", "gate")) or "% CI" in text


NOTEBOOK = {
    "experiment": lambda: package.load("sources"),
    "comparison": lambda: package.compare("baseline", "proposed"),
    "comparison-three": lambda: package.compare("baseline", "proposed", "noisy"),
    "gate": lambda: package.check("worse", "baseline", {"test acc": 0.2}),
    "plan": lambda: package.plan("usual"),
}


@pytest.mark.parametrize("name", NOTEBOOK)
def test_notebook_shows_what_it_showed(project, name):
    forget_comparisons(project)
    with contextlib.chdir(project):
        value = NOTEBOOK[name]()
        pieces = [repr(value), *([value._repr_html_()] if hasattr(value, "_repr_html_") else [])]
    check_golden(f"notebook/{name}.txt", plain("\n\n".join(pieces) + "\n", project))
