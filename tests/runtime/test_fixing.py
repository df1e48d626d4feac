"""What no generator decides, held still or turned round in trial runs that look for a cause."""

from __future__ import annotations

import pytest
from installed import require
from programs import Run


def printed(run: Run, source: str, fixed: str, times: int = 2) -> set[str]:
    environment = {"DEVIATE_FIXED": fixed} if fixed else {}
    outcomes = [run(source, control="observe", seeds=None, environment=environment) for _ in range(times)]
    assert all(outcome.status == 0 and not outcome.of("note") for outcome in outcomes), outcomes[0].stderr
    return {outcome.stdout for outcome in outcomes}


CLOCK = """
import time, datetime
print(time.time(), time.time_ns(), time.perf_counter(), datetime.datetime.now(), datetime.datetime.today())
began = time.time()
assert time.time() >= began
assert isinstance(datetime.datetime.strptime("2020", "%Y"), datetime.datetime)
assert type(datetime.datetime.now()) is datetime.datetime
assert isinstance(datetime.datetime.now() - datetime.datetime(2020, 1, 1), datetime.timedelta)
"""
ENTROPY = """
import os, random, secrets, uuid
print(os.urandom(7), uuid.uuid4(), secrets.token_hex(4), random.SystemRandom().random())
assert os.urandom(7) != os.urandom(7)
assert len(os.urandom(0)) == 0
"""


@pytest.mark.parametrize(("fixed", "source"), [("clock", CLOCK), ("entropy", ENTROPY)])
def test_what_is_held_still_is_the_same_in_each_run(run: Run, fixed: str, source: str) -> None:
    assert len(printed(run, source, "")) == 2
    assert len(printed(run, source, fixed)) == 1


FILES = """
import glob, os, pathlib
os.makedirs("parts")
for name in "bdac":
    open(os.path.join("parts", name), "w").close()
os.chdir("parts")
with os.scandir(".") as entries:
    print([entry.name for entry in entries])
print(os.listdir("."), glob.glob("*"), [path.name for path in pathlib.Path(".").iterdir()])
print([names for _, _, names in os.walk(".")])
os.chdir("..")
for name in "abcd":
    os.remove(os.path.join("parts", name))
os.rmdir("parts")
"""


@pytest.mark.parametrize(("fixed", "order"), [("files", list("abcd")), ("files-reversed", list("dcba"))])
def test_files_are_listed_in_one_order(run: Run, fixed: str, order: list[str]) -> None:
    (text,) = printed(run, FILES, fixed, times=1)
    assert text == f"{order}\n{order} {order} {order}\n[{order}]\n"


THREADS = """
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool
out = []
threads = [threading.Thread(target=lambda n=n: out.append(n)) for n in range(20)]
for thread in threads:
    thread.start()
with ThreadPoolExecutor(4) as pool:
    tasks = [pool.submit(pow, n, 2) for n in range(20)]
    out += [task.result() for task in as_completed(tasks)]
    failing = pool.submit(int, "x")
assert type(failing.exception()) is ValueError
print(out == [*range(20), *(n * n for n in range(20))])
"""


def test_threads_run_one_after_another(run: Run) -> None:
    assert printed(run, THREADS, "threads", times=1) == {"True\n"}


MEMORY = "import numpy as np\nprint(np.empty(3), np.empty_like([1]), np.empty((0, 2)).shape, np.empty(1, object))\n"


@pytest.mark.parametrize(("fixed", "text"), [("memory", "[0. 0. 0.] [0]"), ("memory-filled", "[77. 77. 77.] [77]")])
def test_arrays_that_are_not_filled_hold_one_number(run: Run, fixed: str, text: str) -> None:
    require("numpy")
    assert printed(run, MEMORY, fixed, times=1) == {f"{text} (0, 2) [None]\n"}


TENSORS = """
import torch
made = torch.Tensor(2), torch.FloatTensor(2), torch.ones(1).new(2), torch.empty(2), torch.empty_strided((2,), (1,))
print({float(number) for tensor in made for number in tensor})
assert torch.Tensor([1, 2]).tolist() == torch.FloatTensor([1, 2]).tolist() == [1, 2]
assert isinstance(torch.ones(1), torch.FloatTensor) and torch.ones(1).type(torch.LongTensor).dtype is torch.int64
assert type(torch.nn.Parameter(torch.Tensor(2))) is torch.nn.Parameter
"""


def test_tensors_that_are_made_by_sizes_hold_one_number(run: Run) -> None:
    require("torch")
    assert printed(run, TENSORS, "memory-filled", times=1) == {"{77.0}\n"}


def test_nothing_is_held_still_unless_it_is_wanted(run: Run) -> None:
    source = "import sys\nprint([name for name in sys.modules if name.endswith('fixing')])\n"
    assert printed(run, source, "", times=1) == {"[]\n"}
