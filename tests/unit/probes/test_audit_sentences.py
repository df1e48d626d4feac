"""What an audit, an explanation and a verification say, and under which condition."""

import msgspec
import pytest

from deviate.observe.events import ReachedDraw
from deviate.observe.fingerprints import DrawSource
from deviate.observe.identity import Difference
from deviate.observe.repetitions import RepeatedDraws
from deviate.probes.causes import Cause
from deviate.probes.trial import PrintedNumber, UnforeseenName, Verification, YieldedMetric
from deviate.probes.verdicts import NOT_MADE, Audit, AuditedFactor, Compared, DrawingLine, Explanation, Pin, Probe
from deviate.report.topics.audit_sentences import (
    CAUSES,
    audit_answer,
    audit_method,
    cause_text,
    control_sentences,
    control_text,
)
from deviate.report.topics.explanation import (
    compared_text,
    explanation_answer,
    implementation_noise,
    implementation_text,
)
from deviate.report.views import page_view
from deviate.report.writers.terminal import render_terminal
from deviate.source.lint import Suspect


def factor(name="init", verdict="varies", **changes):
    return AuditedFactor(factor=name, verdict=verdict, fingerprints=["a", "b"], **changes)


COMPARED = Compared(metrics=["loss"], values=12, iterations=3, equal=True)
SAID = "Compared: 12 values of loss in the first 3 iterations; equal."
APART = Difference(run="b", other="a", metric="loss", iteration=0, value=1.0, other_value=2.0)
DIFFERENT = Compared(metrics=["loss"], values=12, iterations=3, equal=False, difference=APART)


def audit(*factors, **changes):
    fields = {
        "command": ["python", "train.py"],
        "workers": [],
        "seeds": [],
        "draws_left": [],
        "gpu": False,
        "probes": [],
        "compared": COMPARED,
    }
    return Audit(factors=list(factors), **{**fields, **changes})


def answer(*factors, **changes):
    return list(audit_answer(audit(*factors, **changes)))


LINE = Suspect(file="train.py", line=3, kind="hash", text="set(names)")
WHOLE = msgspec.structs.replace(COMPARED, ended=True)


@pytest.mark.parametrize(
    ("verdicts", "changes", "said"),
    [({"init": "pinned", "layers": "absent"}, {"compared": WHOLE},
      ["As it is, this training repeats itself: every seed is fixed.", "8 runs would be one result, 8 times."]),
     ({"init": "absent"}, {"compared": WHOLE},
      ["As it is, this training repeats itself: no random number was drawn.", "8 runs would be one result, 8 times."]),
     ({"init": "pinned"}, {},
      ["As far as it was run (in the first 3 iterations), this training repeats itself: every seed is fixed."]),
     ({"init": "pinned"}, {"word": "epoch"},
      ["As far as it was run (in the first 3 epochs), this training repeats itself: every seed is fixed."]),
     ({"init": "varies", "shuffle": "varies", "layers": "unknown"}, {"compared": DIFFERENT},
      ["Runs differ as they are: initialisation and data order vary.", "Unknown: stochastic layers."]),
     ({"init": "varies"}, {"compared": DIFFERENT, "causes": [Cause(kind="threads")]},
      ["Runs differ as they are: initialisation varies.",
       "Values differ between runs by what is not drawn, too: the order in which threads finish."]),
     ({"data": "varies"}, {}, ["data draws vary, yet two runs reported the same."]),
     ({"init": "varies"}, {"gpu": True},
      ["initialisation varies, yet two runs reported the same.", "Unknown: kernels."]),
     ({"init": "pinned"}, {"compared": DIFFERENT, "causes": [Cause(kind="hash", lines=[LINE])]},
      ["Runs differ although every seed is fixed: hashes of strings (PYTHONHASHSEED), at train.py:3."]),
     ({"init": "pinned"}, {"compared": DIFFERENT, "causes": [Cause(kind="entropy", lines=[LINE])]},
      ["Runs differ as they are: random bytes of the system, at train.py:3."]),
     ({"init": "pinned"}, {"compared": DIFFERENT, "causes": [Cause(kind="unknown", lines=[LINE])]},
      ["Runs differ although every seed is fixed: an unknown cause."]),
     ({"init": "pinned"}, {"compared": DIFFERENT, "gpu": True, "causes": [Cause(kind="unknown")]},
      ["Runs differ although every seed is fixed: kernels of the GPU may be why.", "Unknown: kernels."]),
     ({"init": "pinned"}, {"compared": DIFFERENT, "gpu": True, "causes": [Cause(kind="clock")]},
      ["Runs differ although every seed is fixed: the time or kernels of the GPU may be why.", "Unknown: kernels."]),
     ({"init": "pinned"}, {"compared": DIFFERENT}, ["Runs differ although every seed is fixed: no cause was found."]),
     ({"init": "pinned", "other": "unknown"}, {"compared": WHOLE},
      ["As it is, this training repeats itself.", "8 runs would be one result, 8 times.", "Unknown: other draws."]),
     ({"init": "unknown"}, {"compared": DIFFERENT},
      ["Runs differ as they are: no cause was found.", "Unknown: initialisation."]),
     ({"init": "unknown"}, {"compared": Compared(equal=None, why="a probe failed")},
      ["Not compared: a probe failed.", "Unknown: initialisation."])],
)  # fmt: skip
def test_the_first_sentence_says_whether_it_repeats_and_why(verdicts, changes, said):
    assert answer(*(factor(name, verdict) for name, verdict in verdicts.items()), **changes) == said


def test_no_seed_is_said_to_fix_what_is_drawn_and_replaced():
    replaced = [factor("init", "pinned", why="something takes its place"), factor("shuffle", "pinned")]
    assert answer(*replaced)[0].endswith("this training repeats itself: no draw that varies has an effect.")


def test_control_is_claimed_only_of_factors_that_were_held_and_varied():
    controlled = factor(held=True, moved=True)
    probes = [Probe(name="control", ended="completed", seconds=1.5, iterations=1, fingerprints={})] * 2

    def control(*factors, **changes):
        return next(control_sentences(audit(*factors, **changes)), "")

    assert control(controlled, probes=probes) == "Deviate can vary it alone (2 probes, 3.0 s)."
    # What was not tried is named; a factor that is not there is not asked for.
    two = [controlled, factor("shuffle", held=True, moved=True), factor("layers", "absent")]
    assert control(*two).startswith("Deviate can vary each of the 2 alone (")
    untold = "Unknown whether Deviate can hold and vary alone: data order ("
    assert control(controlled, factor("shuffle", held=True)).startswith(untold)
    assert control(controlled, factor("shuffle", held=False)).startswith(
        "Deviate cannot hold, or cannot vary alone: data order ("
    )
    assert control(factor(), quick=True) == ""


@pytest.mark.parametrize(
    ("changes", "text"),
    [({"held": True, "moved": True}, "held, varied alone"),
     ({"held": False, "moved": False}, "not held, not varied"),
     ({"moved": True, "leaks": ["data"]}, "varied, changes data too"), ({}, "")],
)  # fmt: skip
def test_what_was_tried_of_a_factor(changes, text):
    assert control_text(factor(**changes)) == text


NAMES = {
    "hash": "hashes of strings (PYTHONHASHSEED)", "clock": "the time", "entropy": "random bytes of the system",
    "files": "the order in which files are listed", "threads": "the order in which threads finish",
    "memory": "memory that is read before it is written", "leftovers": "files of an earlier run",
    "unknown": "an unknown cause",
}  # fmt: skip


def test_causes_elsewhere_are_named():
    assert NAMES == CAUSES
    assert "Values would differ elsewhere by: the order in which files are listed." in answer(
        causes=[Cause(kind="files", here=False)]
    )


FIRST = Difference(run="b", other="a", metric="loss", iteration=3, value=0.5, other_value=0.25)


@pytest.mark.parametrize(
    ("changes", "text"),
    [({"kind": "hash", "lines": [LINE], "difference": FIRST},
      "Values differ between runs by hashes of strings (PYTHONHASHSEED) (`set(names)` at train.py:3). The first "
      "difference: loss in the 4th iteration. Deviate holds them, and varies them with `other`."),
     ({"kind": "leftovers", "here": False, "files": ["best.pt"]},
      "In a folder that was used before, values differ: a run finds best.pt. Deviate gives each run a folder of its "
      "own."),
     ({"kind": "leftovers", "here": False, "files": ["best.pt"], "in_project": True},
      "Values are others without best.pt, which the program itself writes. Each run begins with them, here and under "
      "Deviate."),
     ({"kind": "files", "here": False},
      "On another machine, values may differ by the order in which files are listed."),
     ({"kind": "clock", "here": False}, "Values depend on the time."),
     ({"kind": "threads", "held": False}, "Values differ between runs by the order in which threads finish. Runs "
      "differ by it under Deviate, too."),
     ({"kind": "unknown", "tried": False}, "Two probes with equal draws report different values, for an unknown "
      "reason. Without --quick, audit looks for the cause."),
     ({"kind": "unknown", "failed": ["clock"]}, "Two probes with equal draws report different values, for an unknown "
      "reason."),
     ({"kind": "unknown"}, "Two probes with equal draws report different values, for an unknown reason; "
      "holding what Deviate can hold does not help.")],
)  # fmt: skip
def test_a_cause_says_what_it_does_and_whether_deviate_holds_it(changes, text):
    assert cause_text(Cause(**changes)) == text


def test_the_page_has_workers_probes_draws_and_what_pins_by_nothing():
    workers = RepeatedDraws(processes=2, digest="aa", sources=[DrawSource(generator="numpy", file="d.py", line=4)])
    probe = Probe(name="as it is", ended="all seen", seconds=1, iterations=2, fingerprints={})
    ended = msgspec.structs.replace(probe, name="control", ended="limit")
    draw = ReachedDraw(factor="other", call="random.gauss", file="train.py", line=6)
    shown = audit(
        factor("init", "pinned", why="only one of two probes used it"), workers=[workers], probes=[probe, ended],
        draws_left=[draw], causes=[Cause(kind="clock")], gpu=True,
    )  # fmt: skip
    written = repr(page_view(shown).page().sections)
    for words in (
        "2 worker processes draw the same numbers: a generator made at d.py:4 is copied into each of them. Seed "
        "it in each, as in worker_init_fn.",
        "by nothing that Deviate saw",
        "GPU kernels may add noise: `deviate run --vary impl` measures it",
        "Among the draws that count as `other`",
        "ended once everything was drawn for",
        "ended at the limit",
    ):
        assert words in written


@pytest.mark.parametrize(
    ("changes", "text", "status"),
    [({}, SAID, 0),
     ({"ended": True, "weights": True}, "Compared: 12 values of loss and the final weights up to the end of the "
      "program; equal.", 0),
     ({"equal": False, "difference": APART, "metrics": list("abcde"), "iterations": 0},
      "Compared: 12 values of a, b, c and 2 more metrics up to where a probe was ended; they differ.", 0),
     ({"equal": None, "values": 0, "why": "no metric was recorded within 60 s (--limit)"},
      "Not compared: no metric was recorded within 60 s (--limit).", 3)],
)  # fmt: skip
def test_it_is_said_what_was_compared_and_how_far(changes, text, status):
    made = audit(factor(), compared=msgspec.structs.replace(COMPARED, **changes))
    assert compared_text(made) == text
    assert made.status == status


@pytest.mark.parametrize(
    ("changes", "noise", "text"),
    [({"controlled": COMPARED}, True, "no GPU was used, and no implementation noise was seen: two probes with "
      "everything held fixed are equal in 12 values of loss"),
     ({}, True, "no GPU was used, and no implementation noise was seen: two probes are equal in 12 values of loss"),
     ({"controlled": Compared(equal=False)}, False, "no GPU was used, yet two probes with everything held fixed "
      "differ"),
     ({"controlled": Compared(equal=False), "causes": [Cause(kind="memory", held=False)]}, None,
      "two probes with everything held fixed differ by another cause, so nothing is known of it"),
     ({"controlled": Compared(equal=False), "factors": [factor("data", held=False)]}, None,
      "two probes with everything held fixed differ by another cause, so nothing is known of it"),
     ({"compared": Compared(equal=False)}, None, "two probes differ; without --quick, audit holds all else"),
     ({"controlled": NOT_MADE}, None, "not compared: a probe failed or was not made"),
     ({"gpu": True}, None, "GPU kernels may add noise: `deviate run --vary impl` measures it")],
)  # fmt: skip
def test_implementation_noise_is_denied_only_by_two_equal_probes(changes, noise, text):
    made = msgspec.structs.replace(audit(factor()), **changes)
    assert (implementation_noise(made), implementation_text(made)) == (noise, text)


def test_the_screen_says_what_fixes_each_source():
    pin = Pin(call="torch.manual_seed", file="train.py", line=12, given="0", library=False)
    made = audit(
        factor("init", "pinned", pins=[pin], held=True, moved=True), factor("data", "pinned"),
        factor("other", "absent"),
        factor("layers", "absent"), compared=WHOLE,
    )  # fmt: skip
    text = render_terminal(page_view(made).page("screen"), 80)
    assert [line.split("  ") for line in map(str.rstrip, text.splitlines()) if "train.py:12" in line] != []
    for words in ("initialisation                  torch.manual_seed(0)", "data draws                      not seen",
                  "other draws, stochastic layers", "none", "kernels", "no noise seen, no GPU",
                  "see how much it matters:", "deviate run -n 8 --vary sources -- python train.py"):  # fmt: skip
        assert words in text
    several = audit(factor("data", "pinned", pins=[pin, pin]), compared=WHOLE)
    text = render_terminal(page_view(several).page("screen"), 80)
    # Sources are those of a training: data are varied by themselves.
    assert "train.py:12 and 1 more" in text
    assert "--vary data --" in text
    silent = audit(factor("init"), compared=Compared(ended=True, weights=True, equal=False))
    assert "see how much it matters" not in render_terminal(page_view(silent).page("screen"), 80)
    unseen = msgspec.structs.replace(pin, call="jax.random.PRNGKey", seen=False)
    keys = audit(factor("layers", "pinned", pins=[unseen, unseen]), compared=WHOLE)
    assert "train.py:12 or 1 more" in render_terminal(page_view(keys).page("screen"), 80)
    varying = render_terminal(page_view(audit(factor("init"), compared=DIFFERENT)).page("screen"), 80)
    assert "initialisation  nothing" in varying
    # Draws of no known purpose may be of any that none was counted for.
    unsure = audit(factor("other"), factor("init", "absent"), compared=WHOLE)
    assert "initialisation  none seen" in render_terminal(page_view(unsure).page("screen"), 80)


def test_the_probes_are_counted_by_what_was_done_with_them():
    names = ["as it is", "as it is", "control", "control", "init", "hash, held", "shuffle"]
    probes = [Probe(name=name, ended="completed", seconds=1, iterations=1, fingerprints={}) for name in names]
    assert audit_method(audit(probes=probes)) == (
        "The sources of nondeterminism were read off the fingerprints of 7 short probe runs: 2 as it is, 2 with every "
        "source held fixed, 2 with one source varied and 1 with something else held or changed."
    )


def line(**changes):
    fields = {"file": "train.py", "line": 3, "call": "randn", "text": "w = randn(3)", "exact": True, "order": 1,
              "counts": [4, 4], "digests": ["a", "a"]}  # fmt: skip
    return DrawingLine(**{**fields, **changes})


def test_an_explanation_says_where_probes_part_and_what_was_not_seen():
    same = Explanation(factor="init", lines=[line()])
    assert list(explanation_answer(same)) == [
        "1 line drew for `init`.",
        "The first draws of each line are the same in both probes.",
    ]
    apart = Explanation(factor="init", lines=[line(file="")], first_difference=0, complete=False)
    assert list(explanation_answer(apart))[1:] == [
        "The two probes first differ at no line of the program.",
        "The probes were stopped early: counts cover what they did until then.",
    ]
    assert list(explanation_answer(Explanation(factor="init", lines=[]))) == ["Nothing was seen to draw for `init`."]


@pytest.mark.parametrize(("ended", "said"), [("completed", False), ("all seen", True)])
def test_fingerprints_of_probes_that_were_ended_are_said_to_be_of_other_parts(ended, said):
    ends = ("completed", ended)
    probes = [Probe(name="as it is", ended=each, seconds=1, iterations=1, fingerprints={"init": "a"}) for each in ends]
    written = repr(page_view(audit(factor(), probes=probes)).page().sections)
    assert ("Probes that were ended at different points have different fingerprints" in written) == said


OBSERVED = PrintedNumber(name="f1", source="stdout", line="f1 ⟨n⟩", count=2, first=0.1, last=0.2, kind="quality")
COUNTER = PrintedNumber(name="epoch", source="stdout", line="epoch ⟨n⟩", count=2, first=0, last=1, reason="counts")


def verification(**changes):
    fields = {"verified": [YieldedMetric(name="loss", count=2, first=1.0, last=0.5)], "silent": ["acc"],
              "unforeseen": [], "ended": "completed", "seconds": 2.0, "iterations": 3}  # fmt: skip
    return Verification(**{**fields, **changes})


@pytest.mark.parametrize(
    ("ended", "iterations", "texts"),
    [("completed", 3, ["1 of 2 metrics found in the source recorded values; the program ran to its end in 2.0 s.",
                       "never reported: the program ran to its end without it"]),
     ("all seen", 3, ["the program was ended after 2.0 s, once every metric had a value"]),
     ("limit", 3, ["the program was ended at the limit of 60 s, with 3 iterations of the main loop begun",
                   "not yet: the program may report it after 60 s; try a larger --set timeout"]),
     ("limit", 0, ["the program was ended at the limit of 60 s, before the main loop began"]),
     ("failed", 3, ["the program failed after 2.0 s", "not reported before the program failed"])],
)  # fmt: skip
def test_a_verification_says_how_the_program_ended_and_why_a_metric_is_silent(ended, iterations, texts):
    written = repr(page_view(verification(ended=ended, iterations=iterations)).page().sections)
    assert [text for text in texts if text not in written] == []


@pytest.mark.parametrize(
    ("silent", "printed", "text"),
    [(["acc"], [], "0 of 1 metric found in the source recorded values; the program"),
     (["acc"], [OBSERVED], "found in the source recorded values; 1 more is read from the output; the program"),
     ([], [OBSERVED, OBSERVED], "No metric was found in the source; 2 are read from the output; the program"),
     ([], [COUNTER], "No metric was found in the source, nor in the output; the program")],
)  # fmt: skip
def test_what_is_seen_in_the_output_alone_is_counted(silent, printed, text):
    made = verification(verified=[], silent=silent, printed=printed)
    assert text in repr(page_view(made).page().sections)
    assert not made.measured or (printed and not silent)


@pytest.mark.parametrize(
    ("recorded", "silent", "text", "badge"),
    [(["loss", "acc"], [], "All 2 metrics found in the source recorded values;", "every metric has values"),
     (["loss"], [], "The only metric found in the source recorded values;", "every metric has values"),
     (["loss"], ["acc"], "1 of 2 metrics found in the source recorded values;", "1 metric without values")],
)  # fmt: skip
def test_a_page_says_what_was_checked_and_what_came_of_it(recorded, silent, text, badge):
    yielded = [YieldedMetric(name=name, count=2, first=1.0, last=0.5) for name in recorded]
    page = page_view(verification(verified=yielded, silent=silent)).page()
    (answer, *_) = page.sections[0].blocks
    assert page.subtitle == "check that its metrics are recorded"
    assert answer.sentences[0].startswith(text)
    assert answer.badge.text == badge


def test_names_of_run_time_are_listed_with_their_origin():
    names = [UnforeseenName(name=name, metric=metric, count=1, first=1.0, last=1.0)
             for name, metric in (("a", "loss"), ("b", "loss"), ("c", None))]  # fmt: skip
    written = repr(page_view(verification(unforeseen=names)).page().sections)
    for text in ("under 2 names, see below", "reported by a framework", "Names known at run time only"):
        assert text in written
    unmeasured = verification(ended="completed", reason="no metric was recorded")
    assert "was not measured: no metric was recorded" in repr(page_view(unmeasured).page().sections)
