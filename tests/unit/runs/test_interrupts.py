"""Who listens hears each signal; who does not is ended by it, after what is temporary was cleared away."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest

from deviate.core.interrupts import Stopped, at_any_end, listening

#: Programs that send themselves a signal.
BEGIN = """
import os, signal, sys
from deviate.core.interrupts import *
import deviate.__main__
press = lambda: os.kill(os.getpid(), int(sys.argv[1]))
"""


def ended(program, number, **options):
    words = [sys.executable, "-c", BEGIN + program, str(int(number))]
    return subprocess.run(words, capture_output=True, text=True, **options)


NUMBERS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


@NUMBERS
def test_a_signal_clears_in_turn_and_ends_the_process(number):
    program = """
with at_any_end(lambda: os.write(1, b"outer ")), at_any_end(lambda: 1 / 0), at_any_end(lambda: os.write(1, b"inner ")):
    try:
        press()
    except BaseException:
        pass
    os.write(1, b"went on")
"""
    done = ended(program, number)
    assert (done.returncode, done.stdout, done.stderr) == (-number, "inner outer ", "")


@NUMBERS
def test_who_listens_decides_and_the_end_is_by_the_signal(number):
    program = """
try:
    with at_any_end(lambda: os.write(1, b"cleared ")):
        with listening() as stop:
            with at_any_end(lambda: None):
                press()
            os.write(1, b"in order %d " % stop.count)
        stop.obey()
except KeyboardInterrupt as stop:
    end(number_of(stop))
"""
    done = ended(program, number)
    assert (done.returncode, done.stdout, done.stderr) == (-number, "in order 1 cleared ", "")


@pytest.fixture
def as_a_notebook():
    """Take Ctrl-C for an exception, as Python does that a person started."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("as_a_notebook")
def test_handlers_are_the_callers_again_in_whatever_order_they_were_taken():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        first.enter_context(listening())
        second.enter_context(at_any_end(lambda: None))
        first.close()
        # A notebook's own Ctrl-C is an exception, which clears by itself.
        assert signal.getsignal(signal.SIGINT) is before[0]
        stop = second.enter_context(listening())
        signal.raise_signal(signal.SIGTERM)
        assert (stop.count, stop.number) == (1, signal.SIGTERM)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    with pytest.raises(Stopped):
        stop.obey()


def test_outside_the_main_thread_there_is_nothing_to_hear_and_all_is_cleared():
    cleared = []

    def work():
        with listening() as stop, at_any_end(partial(cleared.append, "cleared")):
            cleared.append(stop.count)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert cleared == [0, "cleared"]


def test_a_text_is_written_whole_before_a_signal_ends_the_process():
    program = """
try:
    with whole():
        os.write(1, b"{")
        press()
        os.write(1, b"}")
    os.write(1, b"more")
except KeyboardInterrupt as stop:
    end(number_of(stop))
"""
    done = ended(program, signal.SIGTERM)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "{}", "")


@pytest.mark.parametrize("presses", [1, 2])
def test_a_text_that_nobody_reads_is_not_waited_for(presses):
    timers = presses * "threading.Timer(0.1, press).start()\n"
    program = f"import threading\n{timers}with whole():\n    print((1 << 20) * 'x', flush=True)"
    reads, writes = os.pipe()
    words = [sys.executable, "-c", BEGIN + program, str(int(signal.SIGTERM))]
    done = subprocess.run(words, stdout=writes, stderr=subprocess.PIPE, timeout=30, check=False)
    os.close(reads)
    os.close(writes)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, b"")
