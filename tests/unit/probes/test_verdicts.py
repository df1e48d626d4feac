"""What follows from the fingerprints of an audit's probes."""

import json
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from deviate.core.experiment import Run
from deviate.observe.events import ReachedDraw, ReplacedSeed
from deviate.observe.fingerprints import DrawSource, Fingerprint
from deviate.probes.audit import ITERATIONS, QUIET_AFTER, QUIET_WITHIN, QUIET_WITHOUT, Progress, Settled
from deviate.probes.causes import Outcome, differ
from deviate.probes.verdicts import Audit, Probe, assess_factor
from deviate.report.topics.audit_sentences import factor_notes, pin_text
from deviate.report.views import page_view
from deviate.report.writers.markdown import render_markdown
from deviate.store.folders import RunFolder
from deviate.store.records import TICK
from deviate.store.run_files import RECORD

SEED = DrawSource(generator="torch", call="torch.manual_seed", file="train.py", line=12, given="42")
DEFAULT = DrawSource(generator="torch", call="set_seed", file="transformers/trainer.py", line=400, given="42")

DEFAULT_SEED = ReplacedSeed(
    call="set_seed", file=DEFAULT.file, line=DEFAULT.line, given="42", library=True, through="train.py:15"
)


def prints(name="init", digest="a", *, first=None, sources=(), processes=1, count=4):
    return {
        name: Fingerprint(
            name=name, digest=digest, first=first or digest, count=count, processes=processes, ended=1,
            sources=list(sources),
        )
    }  # fmt: skip


def judged(first, second, controls=({}, {}), varied=None, seeds=()):
    return assess_factor("init", [first, second], controls, varied, list(seeds))


def test_what_differs_between_two_probes_varies():
    audited = judged(prints(digest="a", sources=[SEED]), prints(digest="b"))
    assert (audited.verdict, audited.pins, audited.fingerprints) == ("varies", [], ["a", "b"])


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([SEED], [SEED], ""),
        (
            [{"given": "1"}],
            [{"given": "2"}],
            "torch.manual_seed at train.py:12 is given another seed in each run: 1, 2",
        ),
        # Each process has a seed of its own, the same in each run; of one rank it is read off the clock.
        ([{"given": "1"}, {"given": "2"}], [{"given": "2"}, {"given": "1"}], ""),
        (
            [{"given": "1"}, {"given": "17"}],
            [{"given": "1"}, {"given": "18"}],
            "torch.manual_seed at train.py:12 is given another seed in each run: 17, 18",
        ),
        ([{"call": "torch.seed", "given": "None"}], [SEED], "torch.seed() at train.py:12 takes a seed from the system"),
        ([{"call": "torch.Generator", "given": "None"}], [SEED], ""),
        ([{"call": "", "given": ""}], [SEED], "nothing seeds the generator that train.py:12 makes"),
    ],
)
def test_what_varies_is_named_with_the_line_that_does_not_seed_it(first, second, why):
    sides = [
        [each if isinstance(each, DrawSource) else msgspec.structs.replace(SEED, **each) for each in side]
        for side in (first, second)
    ]
    audited = judged(*(prints(digest=digest, sources=side) for digest, side in zip("ab", sides, strict=True)))
    assert (audited.verdict, audited.why) == ("varies", why)


def test_content_made_otherwise_of_the_same_draws_is_no_draw_that_varies():
    first, second = (
        {"init": msgspec.structs.replace(prints(digest=digest)["init"], drawn="d")} for digest in ("a", "b")
    )
    audited = judged(first, second, (first, second))
    assert (audited.verdict, audited.held, audited.fingerprints) == ("pinned", True, ["d", "d"])
    one, other = (Outcome("", each, {}, ended=True, usable=True) for each in (first, second))
    assert differ(one, other)


def test_what_is_the_same_is_pinned_by_who_seeded_it():
    audited = judged(prints(sources=[SEED, DrawSource(generator="numpy")]), prints(sources=[SEED]))
    assert audited.verdict == "pinned"
    (pin,) = audited.pins
    assert (pin.call, pin.file, pin.line, pin.given, pin.library) == ("torch.manual_seed", "train.py", 12, "42", False)


def test_a_library_s_default_is_told_from_a_line_of_the_project():
    (pin,) = judged(prints(sources=[DEFAULT]), prints(sources=[DEFAULT]), seeds=[DEFAULT_SEED]).pins
    assert (pin.library, pin.seen) == (True, True)
    assert pin_text(pin) == "a seed set in a library: set_seed(42) in transformers/trainer.py:400, through train.py:15"


def test_a_library_s_seed_that_nobody_is_seen_to_draw_from_is_suspected():
    own = msgspec.structs.replace(DEFAULT_SEED, call="torch.Generator.manual_seed", line=1)
    shared = msgspec.structs.replace(DEFAULT_SEED, call="random.seed", line=2)
    seeds = [DEFAULT_SEED, shared, own, ReplacedSeed(call="torch.manual_seed", file="train.py", line=12)]
    drawn = prints("layers", sources=[DEFAULT])
    (pin,) = judged({**prints(), **drawn}, {**prints(), **drawn}, seeds=seeds).pins
    assert (pin.line, pin.library, pin.seen, pin.through) == (1, True, False, "train.py:15")
    assert "it seems" in pin_text(pin)


def test_a_probe_that_was_ended_earlier_is_compared_by_its_first_draws():
    audited = judged(prints(digest="x", first="a", count=9), prints(digest="y", first="a", count=5))
    assert (audited.verdict, audited.fingerprints) == ("pinned", ["a", "a"])
    # The first draws are the same and later ones are not.
    audited = judged(prints(digest="x", first="a"), prints(digest="y", first="a"))
    assert (audited.verdict, audited.fingerprints) == ("varies", ["x", "y"])


def ended_at(count, series):
    (found,) = prints(digest=f"{count}", count=count).values()
    return {"init": msgspec.structs.replace(found, series=[series])}


def test_probes_that_were_ended_within_the_first_draws_are_compared_as_far_as_both_went():
    found = judged(ended_at(4, ["1", "2", "4"]), ended_at(3, ["1", "2"]))
    assert (found.verdict, found.fingerprints) == ("pinned", ["2", "2"])
    found = judged(ended_at(4, ["1", "2", "4"]), ended_at(3, ["1", "x"]))
    assert found.verdict == "varies"


def test_content_that_nothing_is_drawn_for_is_absent_and_one_that_is_replaced_is_no_failure():
    def content(drawn, digest="a"):
        (found,) = prints(digest=digest).values()
        return {"init": msgspec.structs.replace(found, drawn=drawn)}

    found = judged(content(""), content(""), (content(""), content("")))
    assert (found.verdict, found.fingerprints, found.held, found.uncontrolled) == ("absent", [None, None], None, False)
    assert judged(content("", "a"), content("", "b")).verdict == "varies"
    found = judged(content("1"), content("2"), (content("3"), content("3")), content("4"))
    assert (found.verdict, found.held, found.moved, found.uncontrolled) == ("pinned", True, None, False)
    assert "something takes its place" in found.why
    # Two models, one of them seeded and its weights copied into the other.
    unseeded = {"init": msgspec.structs.replace(content("1")["init"], sources=[DrawSource(generator="torch")])}
    assert "something takes its place" in judged(unseeded, unseeded).why


@pytest.mark.parametrize(
    ("first", "second", "controls", "verdict"),
    [
        ({}, {}, ({}, {}), "absent"),
        ({}, {}, (prints(), prints()), "unknown"),
        (prints(), {}, ({}, {}), "unknown"),
        (prints(), prints(digest="b", processes=3), ({}, {}), "unknown"),
    ],
)
def test_what_was_not_drawn_for_twice_is_not_guessed(first, second, controls, verdict):
    audited = judged(first, second, controls)
    assert audited.verdict == verdict
    assert bool(audited.why) == (verdict == "unknown")


def test_control_that_does_not_hold_or_vary_is_told():
    controls = (prints(), prints(digest="b"))
    assert judged(prints(), prints(), controls).held is False
    assert judged(prints(), prints(), (prints(), prints()), prints()).moved is False
    assert judged(prints(), prints(), (prints(), prints()), prints(digest="c")).moved is True


def test_of_several_keys_none_is_said_to_be_the_one_that_is_drawn_from():
    keys = [DrawSource(generator="jax", call="jax.random.key", file="train.py", line=n, given=str(n)) for n in (3, 4)]
    several, one = (judged(prints(sources=made), prints(sources=made)) for made in (keys, keys[:1]))
    assert [pin.seen for pin in (*several.pins, *one.pins)] == [False, False, True]
    assert factor_notes(several)[0] == "by jax.random.key(3) at train.py:3, if it draws from this key"
    assert factor_notes(one) == ["by jax.random.key(3) at train.py:3"]


def test_what_moves_although_it_should_not_is_a_leak():
    control = {**prints(), **prints("layers"), **prints("batches"), **prints("weights"), **prints("examples")}
    moved = {
        **control,
        **prints(digest="b"),
        **prints("layers", "b"),
        **prints("batches", "b"),
        **prints("weights", "b"),
    }
    assert judged(control, control, (control, control), moved).leaks == ["layers", "batches"]
    shuffled = assess_factor(
        "shuffle", [control, control], [control, control], {**control, **prints("batches", "b")}, []
    )
    assert shuffled.leaks == []
    # What control does not hold still says nothing of this factor.
    wavering = {**control, **prints("layers", "c")}
    assert judged(control, control, (control, wavering), moved).leaks == ["batches"]
    # Batches may follow from the weights where no set of examples is known, as a buffer of what an agent met does.
    without = {name: each for name, each in control.items() if name != "examples"}
    assert judged(without, without, (without, without), moved).leaks == ["layers"]


def test_an_order_of_other_examples_is_no_leak():
    order, other = (msgspec.structs.replace(prints("shuffle", d)["shuffle"], drawn="d") for d in "ab")
    sets = (msgspec.structs.replace(prints("examples", d)["examples"], parts={"set": list(d * 3)}) for d in "xy")
    first, second = sets
    control = {**prints(), "shuffle": order, "examples": first}
    moved = {**prints(digest="b"), "shuffle": other, "examples": second}
    assert judged(control, control, (control, control), moved).leaks == []
    assert judged(control, control, (control, control), {**moved, "examples": first}).leaks == ["shuffle"]


def audit(**changes):
    fields = {"command": ["python", "train.py"], "factors": [], "workers": [], "seeds": [], "draws_left": [],
              "gpu": False, "probes": []}  # fmt: skip
    return Audit(**{**fields, **changes})


def test_an_audit_fails_where_a_probe_did_or_a_factor_is_not_controlled():
    good = judged(prints(), prints(), (prints(), prints()), prints(digest="b"))
    assert not audit(factors=[good]).failed
    assert not audit(factors=[judged({}, {})]).failed
    for change in ({"held": False}, {"moved": False}, {"leaks": ["data"]}):
        assert audit(factors=[msgspec.structs.replace(good, **change)]).failed
    probe = Probe(name="as it is", ended="failed", seconds=1, iterations=0, fingerprints={}, reason="status 1")
    assert audit(probes=[probe]).failed


def test_what_is_said_names_the_cause_and_no_control_character_gets_through():
    nasty = msgspec.structs.replace(SEED, given="\x1b[31m1\x1b[0m")
    text = repr(page_view(audit(factors=[judged(prints(sources=[nasty]), prints(sources=[nasty]))], gpu=True)))
    assert "torch.manual_seed(1) at train.py:12" in text
    assert "`deviate run --vary impl` measures it" in text
    assert "Deviate saw" in repr(page_view(audit(factors=[judged(prints(), prints())])))


def test_a_program_that_fails_in_every_probe_is_shown_once():
    failed = Probe(
        name="as it is", ended="failed", seconds=1, iterations=0, fingerprints={}, reason="exit status 1",
        stderr=["RuntimeError: no data"],
    )  # fmt: skip
    draw = ReachedDraw(factor="other", call="random.gauss", file="train.py", line=6)
    view = page_view(audit(probes=[failed, failed], draws_left=[draw]))
    for text in (repr(view), render_markdown(view.page())):
        assert text.count("exit status 1") == text.count("RuntimeError: no data") == 1
        assert "random.gauss at train.py:6" in text


def test_a_notebook_shows_the_sources_of_an_audit():
    view = page_view(audit(factors=[judged(prints(digest="a"), prints(digest="b"))]))
    assert "<td>initialisation</td><td>varies</td><td>a ≠ b</td>" in view._repr_html_()
    assert view.factors[0].verdict == "varies"


# When a probe has shown enough


class Growing:
    """A run whose processes go on writing."""

    def __init__(self, folder):
        self.folder = RunFolder(folder, Run(variant="observed", index=0))
        self.say(event="start", pid=1)

    def say(self, **event):
        with (self.folder.path / "events-1-1.jsonl").open("a") as file:
            file.write(json.dumps(event) + "\n")

    def draw(self, name):
        self.say(event="fingerprint", name=name, moment="first", digest="aa", count=4)

    def tick(self, times=1):
        self.record(TICK, times)

    def record(self, metric, times=1):
        records = np.array([(metric, 0, 0.0, 0.0)] * times, dtype=RECORD)
        with (self.folder.path / "records-1-1.bin").open("ab") as file:
            file.write(records.tobytes())


@pytest.fixture
def growing(tmp_path):
    return Growing(tmp_path)


LOSS, TOOK = SimpleNamespace(name="loss", kind="loss"), SimpleNamespace(name="took", kind="speed")


def settled(growing, target=None):
    return Settled(growing.folder, [LOSS, TOOK], target)


def test_the_first_probe_goes_on_until_it_is_quiet(growing):
    first = settled(growing)
    growing.record(0)
    assert not first.look(100.0)
    growing.draw("init")
    assert not first.look(101.0)
    assert not first.look(101.0 + QUIET_WITHOUT)
    assert first.look(101.0 + 101.0 / 2)


def test_in_the_main_loop_it_is_waited_for_less(growing):
    first = settled(growing)
    growing.draw("init")
    growing.tick()
    growing.record(0)
    assert not first.look(1.0)
    assert not first.look(1.0 + QUIET_WITHIN - 0.1)
    growing.draw("layers")
    growing.tick(ITERATIONS - 1)
    assert not first.look(1.5)
    assert not first.look(1.5 + QUIET_AFTER - 0.1)
    assert first.look(1.5 + QUIET_AFTER)
    # On a busy machine all takes longer, and the program comes as far.
    busy = settled(growing)
    assert not busy.look(60.0)
    assert not busy.look(89.0)
    assert busy.look(90.0)


def test_the_first_probe_waits_for_a_value_that_is_no_time(growing):
    first = settled(growing)
    growing.draw("init")
    growing.tick(50)
    growing.record(1, 50)
    assert not first.look(1.0)
    assert not first.look(1000.0)
    assert first.shown.values == 0
    growing.record(0)
    assert not first.look(1001.0)
    assert first.look(2000.0)
    assert (first.shown.values, first.shown.iterations, first.shown.tells) == (1, 50, True)


def test_later_probes_come_as_far_as_the_first(growing):
    target = Progress({"init": 1, "shuffle": 1}, iterations=2, values=1)
    later = settled(growing, target)
    growing.draw("init")
    growing.draw("shuffle")
    growing.tick(2)
    assert not later.look(50.0)
    growing.record(0)
    assert later.look(50.1)
    assert not settled(growing, Progress({"init": 2})).look(60.0)
    # Where the first came to the end of the program, the others do, too.
    assert not settled(growing, replace(target, ended=True)).look(60.0)


def test_probes_come_as_far_as_the_first_two_were_compared():
    target = Progress({"init": 1}, iterations=3, values=3)
    one, other = Progress({}, iterations=9, values=9), Progress({}, iterations=5, values=4)
    assert target.as_far_as(one, other) == Progress({"init": 1}, iterations=5, values=4)
    assert target.as_far_as(one, Progress()) == target
