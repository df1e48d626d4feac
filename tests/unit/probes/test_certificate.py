"""What a certificate says, what two of them say together, and under which condition."""

import sys

import msgspec
import numpy as np
import pytest

from deviate.core.errors import BadOption
from deviate.observe.fingerprints import Fingerprint
from deviate.observe.identity import Series
from deviate.probes.certificate import Certificate, chain_of, content_digest, liken, read_certificate
from deviate.probes.certify import Certified, replace_command
from deviate.probes.training import Failure
from deviate.report.topics.certificate import likened_sentences, repeated_sentence
from deviate.report.views import page_view
from deviate.report.writers.registry import facts_json
from deviate.runs.request import Request


def series(values, iterations=None, **changes):
    places = np.arange(len(values), dtype=np.int32)
    return Series(places if iterations is None else np.array(iterations, np.int32), np.array(values, float), places,
                  **changes)  # fmt: skip


def fingerprint(name, digest="aa", **changes):
    fields = {"count": 1, "processes": 1, "ended": 1, **changes}
    return Fingerprint(name=name, digest=digest, first=digest, **fields)


def certificate(values=(0.5, 0.25, 0.125), **changes):
    chains = [chain_of("loss", series(values))] if values is not None else []
    prints = {"init": fingerprint("init"), "weights": fingerprint("weights")}
    fields = {
        "created": "2026-01-01T00:00:00", "deviate": "0.1.0", "command": ["python", "train.py"], "folder": ".",
        "seed": 0, "runs": 2, "iterations": 3, "chains": chains, "fingerprints": prints, "predicted": {},
        "digest": content_digest(chains, prints, {}), "source": "5" * 64, "files": {"train.py": "1" * 64},
        "data_files": {"/data/a.npy": "2" * 64}, "environment": {"python": "3.11.7", "threads": 2, "host": "one"},
        "threads": 2, "processes": 1, "switches": [], "differed": [], "unobserved": ["predictions"],
        "seconds": [1.0, 1.0], "others": 0.42,
    }  # fmt: skip
    return Certificate(**{**fields, **changes})


def said(here, there):
    return list(likened_sentences(liken(here, there, ("here", "c.json"))))


def test_links_are_few_and_the_last_is_over_all_values():
    long = chain_of("loss", series(np.arange(1000) / 7))
    assert (long.values, long.stride, len(long.links)) == (1000, 4, 250)
    odd = chain_of("loss", series(np.arange(1001) / 7))
    assert odd.links[:250] == long.links
    assert odd.places[-1] == 1001
    assert chain_of("loss", series([0.0])).links != chain_of("loss", series([-0.0])).links
    assert chain_of("loss", series([1.0], [0])).links != chain_of("loss", series([1.0], [1])).links
    assert chain_of("loss", series([float("nan")])).numbers == [None]


def test_equal_bits_are_equal_whatever_else_is_another():
    first = liken(certificate(), certificate(), ("here", "c.json"))
    assert (first.likeness, first.status, first.values, first.metrics) == ("equal", 0, 3, 1)
    assert said(certificate(), certificate()) == ["Equal bit by bit: 3 values of 1 metric and the final weights."]
    moved = certificate(
        environment={"python": "3.12.1", "threads": 2, "host": "two"}, command=["/bin/python3", "train.py"]
    )
    assert liken(moved, certificate(), ("here", "c.json")).status == 0
    assert said(moved, certificate())[1] == "The bits are equal although this is another: python."


@pytest.mark.parametrize(
    ("change", "status", "first"),
    [
        ({}, 1, "Different in the same environment."),
        ({"environment": {"python": "3.11.7", "threads": 1}}, 1, "Different in another environment: threads."),
        ({"deviate": "0.2.0"}, 1, "Different in another environment: deviate."),
        ({"files": {"train.py": "3" * 64}}, 1, "Different, and so is the training: source train.py."),
        ({"data_files": {"/mnt/a.npy": "4" * 64}}, 1,
         "Different, and so is the training: data /data/a.npy and data /mnt/a.npy."),
        ({"data_files": {"/mnt/a.npy": "2" * 64}}, 1, "Different in the same environment."),
        ({"command": ["python", "train.py", "3"]}, 1, "Different, and so is the training: command."),
    ],
)  # fmt: skip
def test_different_bits_are_of_what_is_another(change, status, first):
    here = certificate(values=(0.5, 0.3, 0.125), **change)
    assert liken(here, certificate(), ("here", "c.json")).status == status
    assert said(here, certificate()) == [
        first,
        "First difference: loss in the 2nd iteration: 0.3 here, 0.25 in c.json.",
    ]


def test_weights_alone_may_differ_and_a_run_may_end_sooner():
    other = certificate(fingerprints={"init": fingerprint("init"), "weights": fingerprint("weights", "bb")})
    assert said(other, certificate()) == ["Different in the same environment.", "Also different: final weights."]
    text = "First difference: loss in the 3rd iteration, reported in c.json and not here."
    assert text in said(certificate(values=(0.5, 0.25)), certificate())
    nothing = certificate(values=None, fingerprints={}, environment={"threads": 1})
    assert liken(nothing, certificate(), ("here", "c.json")).status == 2
    assert said(nothing, certificate()) == [
        "Not comparable: the two have no metric in common.",
        "What is another: python and threads.",
    ]


def test_between_two_links_the_place_is_open():
    values = np.arange(1000) / 7
    other = values.copy()
    other[5] = 9
    found = liken(certificate(other), certificate(values), ("here", "c.json")).parting
    assert (found.iteration, found.since) == (7, 3)
    assert said(certificate(other), certificate(values))[1] == (
        "First difference: loss in the 8th iteration at the latest, and not in the 4th iteration."
    )


def test_a_page_says_what_repeated_and_what_was_not_observed():
    made = certificate(differed=["shuffle"])
    assert repeated_sentence(made) == (
        "It repeats: 2 runs bit-identical in 3 values of 1 metric and the final weights over 3 iterations."
    )
    text = repr(page_view(Certified(command=made.command, certificate=made)))
    assert all(part in text for part in ("not equal", "data order", "not observed", "predictions", made.digest))
    assert "other programs used 0.4 processors" in text
    assert "over 3 epochs" in repeated_sentence(msgspec.structs.replace(made, word="epoch"))
    predicted = certificate(predicted={"train.py:3 test (last)": "66"})
    assert "predictions over" in repeated_sentence(predicted)


def test_without_a_certificate_the_reason_is_given():
    failed = Certified(command=["python"], failure=Failure(run="control-0", reason="it ended with status 2", hint="x"))
    assert failed.status == 1
    assert "No certificate: control-0 did not complete (it ended with status 2)." in repr(page_view(failed))


def test_a_stored_certificate_is_read_again_and_anything_else_is_refused(tmp_path):
    path = tmp_path / "c.json"
    path.write_text(facts_json(certificate()))
    assert read_certificate(path) == certificate()
    path.write_text(facts_json(msgspec.structs.replace(certificate(), hash_version=2)))
    with pytest.raises(BadOption, match="another version"):
        read_certificate(path)
    path.write_text("{}")
    with pytest.raises(BadOption, match="is no certificate"):
        read_certificate(path)


def test_changes_are_a_table():
    here = certificate(values=(0.5,), environment={"python": "3.12", "threads": 1})
    text = repr(page_view(liken(here, certificate(), ("here", "c.json"))))
    assert "threads" in text
    assert "3.12" in text


def test_a_command_of_another_machine_is_found_by_its_name():
    request = Request(command=[])
    assert replace_command(request, ["/nowhere/bin/python3", "train.py"]).command == ["python3", "train.py"]
    assert replace_command(request, [sys.executable, "train.py"]).command == [sys.executable, "train.py"]
    with pytest.raises(BadOption, match="holds a secret"):
        replace_command(request, ["python", "train.py", "--key", "***"])
