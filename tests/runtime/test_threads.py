"""Draws in threads of the program: the same in every run, on each Python there is."""

from __future__ import annotations

import pytest
from programs import FACTORS, Outcome, Run

SOURCE = """
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
import _thread

def draw(count):
    return [__dv_draw__(0, random.random)() for _ in range(count)]

class Own(threading.Thread):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def start(self):
        super().start()

    def run(self):
        self.drawn = __dv_draw__(1, random.sample)(range(100), self.count)
        inner = threading.Thread(target=lambda: self.drawn.append(__dv_draw__(1, random.gauss)(0, 1)))
        inner.start()
        inner.join()

if sys.argv[1:] == ["seeded"]:
    random.seed(3)
threads = [Own(2), Own(2)]
for thread in threads:
    thread.start()
print([thread.join() or thread.drawn for thread in threads])
with ThreadPoolExecutor(3) as pool:
    late = [pool.submit(draw, 2) for _ in range(8)]
    print(list(pool.map(draw, range(4))))
    print([each.result() for each in reversed(late)])
    failed = pool.submit(lambda: 1 / 0).exception()
    print(type(failed).__name__)
own = []
def make():
    rng = random.Random(5)
    own.append([__dv_draw__(0, rng.random)(), __dv_draw__(0, rng.randrange)(100), random.Random().random()])
thread = threading.Thread(target=make)
thread.start()
thread.join()
print(own)
print(draw(2))
with ThreadPool(3) as pool:
    late = [pool.apply_async(draw, (2,)) for _ in range(4)]
    print(pool.map(draw, [1] * 9), list(pool.imap(draw, [2, 2])))
    print([each.get() for each in reversed(late)])
    try:
        pool.map(draw, ["none"])
    except TypeError:
        print("TypeError")
lock = _thread.allocate_lock()
lock.acquire()
_thread.start_new_thread(lambda: print(draw(2)) or lock.release(), ())
lock.acquire()
"""

DRAWS = [{"factor": "augment"}, {"factor": ""}]


def trained(run: Run, python: str, *words: str, vary: str = "", control: str = "streams") -> Outcome:
    seeds = {factor: 7 + 100 * (factor == vary) for factor in FACTORS} if control == "streams" else None
    outcome = run(SOURCE, "program.py", *words, python=python, control=control, seeds=seeds, draws=DRAWS)
    assert outcome.status == 0, outcome.stderr
    assert not outcome.of("note"), outcome.of("note")
    return outcome


def digests(outcome: Outcome) -> dict[str, str]:
    return {event["name"]: event["digest"] for event in outcome.of("fingerprint")}


@pytest.mark.parametrize("words", [[], ["seeded"]], ids=["nothing", "seeded"])
def test_threads_draw_the_same_in_every_run(run: Run, python: str, words: list[str]) -> None:
    first, again, augmented, drawn = (trained(run, python, *words, vary=vary) for vary in ("", "", "augment", "other"))
    assert (first.stdout, digests(first)) == (again.stdout, digests(again))
    assert set(digests(first)) == {"augment", "other"}
    for changed, name in ((augmented, "augment"), (drawn, "other")):
        assert {key for key, digest in digests(changed).items() if digest != digests(first)[key]} == {name}
    lines, with_augment, with_other = (each.stdout.splitlines() for each in (first, augmented, drawn))
    assert [a == b for a, b in zip(lines, with_augment, strict=True)] == [
        True,
        False,
        False,
        True,
        True,
        False,
        False,
        False,
        True,
        False,
    ]
    assert [a == b for a, b in zip(lines, with_other, strict=True)] == [
        False,
        True,
        True,
        True,
        False,
        True,
        True,
        True,
        True,
        True,
    ]
    # No two threads, and no two tasks, draw the same.
    tasks = [tuple(numbers) for numbers in eval(lines[2])]
    assert len(set(tasks)) == len(tasks) == 8
    assert lines[3] == "ZeroDivisionError"


def test_threads_of_an_observed_program_draw_what_they_draw_alone(run: Run, python: str) -> None:
    # Without Deviate they draw from one generator: only threads that wait for each other draw the same again.
    plain = SOURCE.replace("ThreadPoolExecutor(3)", "ThreadPoolExecutor(1)").replace("ThreadPool(3)", "ThreadPool(1)")
    plain = plain.replace("random.Random().random()", "0")
    plain = plain.replace("    thread.start()\nprint", "    thread.start()\n    thread.join()\nprint")
    without = f"import builtins\nbuiltins.__dv_draw__ = lambda site, function: function\n{plain}"
    alone = run(without, "program.py", "seeded", python=python, runtime=False)
    observed = run(plain, "program.py", "seeded", python=python, control="observe", seeds=None, draws=DRAWS)
    assert alone.status == observed.status == 0, alone.stderr + observed.stderr
    assert observed.stdout == alone.stdout


def test_a_draw_that_threads_share_is_noted(run: Run) -> None:
    source = """
import random
import threading
def drawn():
    return random.random()
thread = threading.Thread(target=lambda: __dv_draw__(0, drawn)())
thread.start()
thread.join()
"""
    outcome = run(source, seed=1, draws=DRAWS)
    (message,) = outcome.notes("thread-draws-shared")
    assert message.startswith("drawn draws in a thread")
