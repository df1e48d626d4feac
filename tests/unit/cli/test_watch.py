"""``deviate watch``: who may ask, what is answered, and what the files of runs that go on show."""

import os
import signal
import socket
import struct
import threading
import urllib.error
import urllib.request
from datetime import datetime

import pytest
from click.testing import CliRunner
from compared_sides import write_experiment
from msgspec import structs

from deviate.cli.main import group
from deviate.cli.watch import Watched, WatchServer
from deviate.core.experiment import Run
from deviate.core.interrupts import Stopped
from deviate.facts.live import LiveReader
from deviate.facts.overview import overview
from deviate.report.topics.live import live_figure, live_sentences, live_state
from deviate.runs.executors.processes import created_at
from deviate.store.run_files import Failed, RunInfo


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An experiment with three runs that completed and one that has not begun."""
    monkeypatch.chdir(tmp_path)
    folder = write_experiment(tmp_path, "train", {"test acc": [90.0, 91.0, 92.5]}, failed=1)
    folder.run(Run(variant="algo+impl", index=3)).outcome_file.unlink()
    return folder


def start(folder, index, created=None, host=None):
    """Write what a run leaves that has begun; its process is that of the test unless it was created before."""
    run = folder.run(Run(variant="algo+impl", index=index))
    run.path.mkdir(parents=True, exist_ok=True)
    run.write_info(
        RunInfo(
            variant="algo+impl", index=index, seeds=None, hold_impl=False, argv=["python"], cwd=".", environment={},
            executor="local", host=host or socket.gethostname(), slot=0, jobs=1,
            started=datetime.now().astimezone().isoformat(), pid=os.getpid(),
            created=created_at(os.getpid()) if created is None else created,
        )
    )  # fmt: skip
    return run


def append(run, *values, torn=b""):
    rows = [struct.pack("<iidd", 0, iteration, 0.5, value) for iteration, value in values]
    with (run.path / "records-9-9.bin").open("ab") as file:
        file.write(b"".join(rows) + torn)


def the(live, index):
    return next(run for run in live.runs if run.name == f"algo+impl-{index}")


def test_a_run_under_way_shows_its_curve_as_it_grows(folder):
    reader, run = LiveReader(folder), start(folder, 3)
    append(run, (0, 50.0), (1, 60.0), torn=b"\0\0\0")
    first = reader.version()
    live = the(reader.read(), 3)
    assert (live.state, live.iteration, live.iterations, live.values) == ("under way", 1, [0, 1], [50.0, 60.0])
    with (run.path / "records-9-9.bin").open("r+b") as file:
        file.truncate(48)
    append(run, (1, 61.0), (2, float("nan")), (3, 70.0))
    assert reader.version() != first
    live = the(reader.read(), 3)
    assert (live.iteration, live.iterations, live.values) == (3, [0, 1, 3], [50.0, 61.0, 70.0])


def test_a_run_with_one_value_is_a_point_of_the_chart(folder):
    append(start(folder, 3, created=1.0), (0, 50.0))
    live = LiveReader(folder).read()
    assert the(live, 3).state == "interrupted"
    figure = live_figure(live)
    assert "algo+impl-3" in [point["run"] for point in figure.spec["datasets"]["going"]]
    assert figure.description.endswith("; a point alone is the only value of a run.")


def test_a_run_that_is_made_again_begins_a_new_curve(folder):
    reader, run = LiveReader(folder), start(folder, 3)
    append(run, (0, 50.0), (1, 60.0))
    reader.read()
    (run.path / "records-9-9.bin").unlink()
    append(run, (0, 10.0))
    assert the(reader.read(), 3).values == [10.0]


def test_a_configuration_that_is_half_written_is_as_good_as_none(folder):
    before = LiveReader(folder).read()
    (folder.project / "deviate.toml").write_text("[direc")
    assert LiveReader(folder).read() == before


def test_a_killed_run_is_interrupted_and_one_on_another_machine_may_go_on(folder):
    start(folder, 3, created=1.0)
    assert the(LiveReader(folder).read(), 3).state == "interrupted"
    start(folder, 3, created=1.0, host="elsewhere")
    assert the(LiveReader(folder).read(), 3).state == "under way"


def test_half_written_files_are_passed_over(folder):
    start(folder, 3).info_file.write_text("{")
    live = LiveReader(folder).read()
    assert the(live, 3).state == "waiting"
    assert live.count("completed") == 3


def test_the_time_left_follows_from_the_runs_that_completed(folder):
    folder.write_experiment(structs.replace(folder.read_experiment(), planned={"algo+impl": 6}))
    live = LiveReader(folder).read()
    assert len(live.runs) == 6
    assert live.seconds_left == pytest.approx(3 * 2.01)
    assert (live_state(live), live_sentences(live)) == ("not running", ["3 of 6 done, 3 waiting."])
    start(folder, 3)
    live = LiveReader(folder).read()
    assert live_state(live) == "running"
    (said,) = live_sentences(live)
    assert said.startswith("3 of 6 done, 1 running, 2 waiting, about ")
    assert overview(folder)["seconds_left"] is None
    folder.run(Run(variant="algo+impl", index=3)).worker.mkdir()
    assert overview(folder)["seconds_left"] == pytest.approx(live.seconds_left, abs=1.0)


@pytest.fixture
def served(folder):
    watched = Watched(folder)
    with WatchServer(0, watched.page, watched.version) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(address, **headers):
    """Return status and text of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_page_is_served_on_this_machine_alone(served):
    assert served.server_address[0] == "127.0.0.1"
    status, text = get(served.address)
    assert status == 200
    assert "connect-src &#39;self&#39;" in text
    assert "3 of 4 done" in text


def test_without_the_token_nothing_is_answered(served):
    root = served.address.removesuffix(f"{served.token}/")
    for path in ("", "version", "x/", "x/version", served.token, f"{served.token[:-1]}/", "%2e%2e/", "/"):
        status, text = get(root + path)
        assert status == 403, path
        assert served.token not in text
    assert len(served.token) >= 20


def test_another_name_for_this_machine_is_refused(served):
    assert get(served.address, Host="evil.example")[0] == 403
    assert get(f"{served.address}version", Host=f"localhost:{served.server_port}")[0] == 200


def test_nothing_else_is_served(served):
    assert get(f"{served.address}../../etc/passwd")[0] in (403, 404)
    assert get(f"{served.address}page.js")[0] == 404


def test_tokens_are_never_the_same():
    def nothing():
        return ""

    with WatchServer(0, nothing, nothing) as one, WatchServer(0, nothing, nothing) as other:
        assert one.token != other.token


def test_the_page_follows_the_files(served, folder):
    before = get(f"{served.address}version")[1]
    assert get(f"{served.address}version")[1] == before
    run = folder.run(Run(variant="algo+impl", index=3))
    run.write_outcome(Failed(seconds=1.0, exit_code=1, reason="exit status 1", stderr=["ValueError: <boom>"]))
    assert get(f"{served.address}version")[1] != before
    text = get(served.address)[1]
    assert "ValueError: &lt;boom&gt;" in text
    assert "4 of 4 done (1 failed)." in text
    assert live_state(LiveReader(folder).read()) == "ended"
    assert "Metrics over runs" in text


def test_an_experiment_that_is_removed_leaves_the_last_page(served, folder):
    text = get(served.address)[1]
    folder.experiment_file.unlink()
    assert get(served.address) == (200, text)


def test_a_terminal_view_is_printed_once_where_there_is_no_terminal(folder):
    append(start(folder, 3, created=1.0), (0, 50.0), (1, 60.0))
    done = CliRunner().invoke(group, ["watch", "--terminal"])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "train   python train.py   4 runs"
    assert lines[1].startswith("test acc so far  91.2 ± 1.3 (3 runs)")
    assert lines[2].startswith("3 of 4 done")


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, None), (signal.SIGTERM, Stopped)])
def test_a_signal_ends_it_and_ctrl_c_ends_it_well(folder, monkeypatch, number, raised):
    monkeypatch.setattr(WatchServer, "handle_request", lambda self: signal.raise_signal(number))
    done = CliRunner().invoke(group, ["watch", "train"], standalone_mode=False)
    assert "http://127.0.0.1:" in done.stdout
    assert "no longer watching" in done.stderr
    cause = done.exception and done.exception.__cause__
    assert isinstance(cause, raised) if raised else done.exit_code == 0


#: What a browser sends before it goes away.
SENT = {
    "a request": "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "half a request": "GET {path} HT",
    "half a head": "GET {path} HTTP/1.1\r\nHost: {host}\r\nX-",
    "a long line": "GET /" + 70_000 * "a" + " HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a long head": "GET {path} HTTP/1.1\r\nHost: {host}\r\nX: " + 70_000 * "a" + "\r\n\r\n",
    "many heads": "GET {path} HTTP/1.1\r\nHost: {host}\r\n" + 200 * "X: a\r\n" + "\r\n",
    "no HTTP": "\x16\x03\x01\x02\r\n\r\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", SENT.values(), ids=SENT)
@pytest.mark.parametrize("way", ["reset", "closed", "slow"])
def test_a_browser_that_goes_away_is_not_spoken_of(served, capfd, monkeypatch, text, way):
    monkeypatch.setattr(served.RequestHandlerClass, "timeout", 0.1)
    path = served.address.partition(f":{served.server_port}")[2]
    for _ in range(3):
        with socket.create_connection(served.server_address) as link:
            link.sendall(text.format(path=path, host=f"127.0.0.1:{served.server_port}").encode("latin-1"))
            if way == "reset":
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if way == "slow":
                # The server ends it.
                while link.recv(1 << 16):
                    pass
    assert get(served.address)[0] == 200
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join()
    assert capfd.readouterr() == ("", "")


def test_a_fault_of_ours_is_spoken_of(served, capfd, monkeypatch):
    monkeypatch.setitem(served.answers, "", (lambda: 1 / 0, "text/html"))
    with pytest.raises(OSError, match="closed connection"):
        get(served.address)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_without_an_experiment_the_hint_names_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(group, ["watch"])
    assert "deviate run" in done.exception.hint


def test_a_failed_run_stands_once_on_a_page_without_a_completed_one(folder):
    for index in range(4):
        run = folder.run(Run(variant="algo+impl", index=index))
        run.write_outcome(Failed(seconds=1.0, exit_code=1, reason="exit status 1", stderr=["ValueError: <boom>"]))
    text = Watched(folder).page()
    assert "no run completed" in text
    above, _, _ = text.partition('id="made"')
    assert above.count("ValueError: &lt;boom&gt;") == 1
    assert "run 0, run 1, run 2 and run 3 <span" in above
