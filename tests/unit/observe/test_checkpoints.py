"""Checkpoints that programs write: read in each format, and nothing in them executed."""

from __future__ import annotations

import io
import os
import pickle
import resource
import zipfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from installed import require

from deviate.core.errors import BadOption
from deviate.core.experiment import Run
from deviate.observe.weights import NoCheckpointError, read_checkpoint, read_tensors, read_weights
from deviate.runs.kept import checkpoint_states, keep_checkpoints
from deviate.runs.request import Request, check_request
from deviate.store.folders import RunFolder


def read(path):
    return {name: array.tolist() for name, array in read_checkpoint(path, read_tensors).items()}


def test_a_checkpoint_of_torch_is_read_without_its_optimizer(tmp_path):
    require("torch")
    import torch

    net = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    saved = {
        "epoch": 3,
        "net": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "half": torch.ones(2, dtype=torch.bfloat16) * 1.5,
        "turned": torch.arange(6.0).reshape(2, 3).t(),
        "parameter": torch.nn.Parameter(torch.zeros(())),
        "settings": SimpleNamespace(rate=0.1),
        "count": torch.tensor(7),
    }
    torch.save(saved, tmp_path / "a.pt")
    found = read(tmp_path / "a.pt")
    assert found.pop("net/weight") == net.weight.tolist()
    assert found.pop("net/bias") == net.bias.tolist()
    assert found == {"half": [1.5, 1.5], "turned": [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]], "parameter": 0.0}


def test_arrays_of_numpy_are_read_and_pickles_are_not(tmp_path):
    np.savez(tmp_path / "a.npz", w=np.ones(2), step=np.array(3))
    np.save(tmp_path / "a.npy", np.zeros(3, np.float32))
    assert read(tmp_path / "a.npz") == {"w": [1.0, 1.0]}
    assert read(tmp_path / "a.npy") == {"array": [0.0, 0.0, 0.0]}
    np.savez(tmp_path / "b.npz", w=np.array([{}], object))
    with pytest.raises(NoCheckpointError, match="allow_pickle=False"):
        read(tmp_path / "b.npz")


def test_weights_of_keras_are_read(tmp_path):
    require("h5py")
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["layers/dense/vars/0"] = np.ones((2, 1), np.float32)
        file["optimizer/vars/1"] = np.ones(3)
        file["elsewhere"] = h5py.ExternalLink("/etc/hostname", "/")
    (tmp_path / "a.h5").write_bytes(buffer.getvalue())
    with zipfile.ZipFile(tmp_path / "a.keras", "w") as archive:
        archive.writestr("model.weights.h5", buffer.getvalue())
    assert read(tmp_path / "a.h5") == read(tmp_path / "a.keras") == {"layers/dense/vars/0": [[1.0], [1.0]]}


class Harm:
    """Unpickled, it makes a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@contextmanager
def little_memory():
    """Let this process take 2 GiB more than it has."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (2 << 30), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def torch_file(path, content, **members):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        for name, data in members.items():
            archive.writestr(f"archive/data/{name}", data)


def test_what_a_file_would_execute_is_not_executed(tmp_path):
    mark = tmp_path / "harm"
    torch_file(tmp_path / "a.pt", pickle.dumps({"w": Harm(mark)}, protocol=2))
    with pytest.raises(NoCheckpointError, match="holds no arrays"):
        read(tmp_path / "a.pt")
    (tmp_path / "b.pt").write_bytes(pickle.dumps(Harm(mark)))
    with pytest.raises(NoCheckpointError, match="only be read by executing it"):
        read(tmp_path / "b.pt")
    assert not mark.exists()
    pickle.loads((tmp_path / "b.pt").read_bytes())
    assert mark.exists()


#: A tensor of three numbers over a storage of two.
OUTSIDE = (
    b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x010U\x03cpuK\x02tQ"
    b"K\x00K\x03\x85K\x01\x85\x89Ntq\x01R."
)


def test_tensors_outside_of_their_storage_and_broken_files_are_refused(tmp_path):
    inside = OUTSIDE.replace(b"K\x03\x85", b"K\x02\x85")
    torch_file(tmp_path / "whole.pt", b"\x80\x02]" + inside[2:-1] + b"a.", **{"0": np.ones(2, "<f4").tobytes()})
    assert read(tmp_path / "whole.pt") == {"0": [1.0, 1.0]}
    torch_file(tmp_path / "outside.pt", OUTSIDE, **{"0": np.ones(2, "<f4").tobytes()})
    torch_file(tmp_path / "missing.pt", OUTSIDE)
    (tmp_path / "text.pt").write_text("hello, this is no checkpoint")
    (tmp_path / "empty.pt").write_bytes(b"")
    for name, reason in (
        ("outside", "outside of its storage"),
        ("missing", "no item"),
        ("text", "damaged"),
        ("empty", "damaged"),
    ):
        with pytest.raises(NoCheckpointError, match=reason):
            read(tmp_path / f"{name}.pt")


def lists_of_one_another(depth):
    """Return a pickle of few bytes that nests ten to the power of `depth` entries."""
    nest = [1.0]
    for _ in range(depth):
        nest = [nest] * 10
    return pickle.dumps(nest, protocol=2)


def npy(shape, data=b"", kind="<f4"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


def shared(times, length=2):
    """Return a pickle of tensors over one storage."""
    tensor = OUTSIDE.replace(b"K\x03\x85", bytes([75, length]) + b"\x85")[2:-1]
    return b"\x80\x02](" + tensor + b"ctorch._utils\n_rebuild_tensor_v2\nh\x01R" * times + b"e."


def repeated(times):
    """Return a pickle of one tensor under many names."""
    tensor = OUTSIDE.replace(b"K\x03\x85", b"K\x02\x85")[2:-1]
    return b"\x80\x02](" + tensor + b"q\x02" + b"h\x02" * times + b"e."


def bomb_of_hdf5(path, **settings):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("w", (10**11,), np.float32, **settings)


#: Files of some kilobytes, each with a reason.
BOMBS = {
    "expanded.pt": (OUTSIDE.replace(b"K\x03\x85K\x01", b"J\xff\xff\xff\x7f\x85K\x00"), "larger than the 8 bytes"),
    "huge.pt": (OUTSIDE.replace(b"K\x03\x85K\x01", b"\x8a\x0a" + b"\xff" * 9 + b"\x00\x85K\x00"), "cannot be read"),
    "memo.pt": (b"\x80\x02Nr\xff\xff\xff\x7f.", "names a place 2147483647"),
    "memo of text.pt": (b"\x80\x02Np99999999999\n.", "names a place 99999999999"),
    "bytes.pt": (b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".", "cannot be read"),
    "nest.pt": (lists_of_one_another(11), "nests more than 1,000,000 entries"),
    "shared.pt": (shared(20_000, 250), "tensors are larger than itself"),
    "repeated.pt": (repeated(20), "named 16 times"),
    "a.npy": (npy((10**11,)), "larger than the 0 bytes"),
    "wrapped.npy": (npy((1 << 32, 1 << 32)), "cannot be read"),
    "negative.npy": (npy((-2, -(10**11)), b"\0" * 16), "of shape"),
    "wide.npy": (npy((1,), kind="<U100000000"), "larger than"),
    "a.npz": ({"w.npy": npy((10**11,))}, "larger than the 0 bytes"),
    "packed.npz": ({"w.npy": npy((10**9,), b"\0" * 40)}, "larger than the 40 bytes"),
    "overlapping.safetensors": (
        (130).to_bytes(8, "little")
        + (
            b'{"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
        ).ljust(130)
        + b"\0" * 8,
        "an array of 16 bytes is larger than the 8 bytes",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_claims_more_than_it_has_is_refused_before_anything_is_made(tmp_path, name):
    content, reason = BOMBS[name]
    if name.endswith(".pt"):
        torch_file(tmp_path / name, content, **{"0": np.ones(250 if "shared" in name else 2, "<f4").tobytes()})
    elif isinstance(content, dict):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in content.items():
                archive.writestr(member, data)
    else:
        (tmp_path / name).write_bytes(content)
    with little_memory(), pytest.raises(NoCheckpointError, match=reason):
        read(tmp_path / name)


def test_members_that_lie_over_one_another_are_refused(tmp_path):
    """As in a zip bomb whose members all have the same bytes: here one is listed twice."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("w.npy", npy((1000,), np.random.default_rng(0).bytes(4000)))
        archive.filelist.append(archive.filelist[0])
    with pytest.raises(NoCheckpointError, match="larger than itself"):
        read(path)


def test_data_sets_of_hdf5_that_nobody_wrote_or_that_lie_elsewhere_are_refused(tmp_path):
    bomb_of_hdf5(tmp_path / "a.h5", chunks=(1024,))
    bomb_of_hdf5(tmp_path / "b.h5", chunks=(1024,), compression="gzip")
    for name in ("a.h5", "b.h5"):
        with little_memory(), pytest.raises(NoCheckpointError, match="larger than the 0 bytes"):
            read(tmp_path / name)
    (tmp_path / "secret").write_bytes(np.ones(4, "<f4").tobytes())
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file.create_dataset("w", (4,), "<f4", external=[(str(tmp_path / "secret"), 0, 16)])
    with pytest.raises(NoCheckpointError, match="lies in another file"):
        read(tmp_path / "c.h5")


def test_what_was_packed_or_is_shared_by_layers_is_read(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", w=np.zeros(100_000), empty=np.zeros((0, 3)))
    assert {name: len(array) for name, array in read(tmp_path / "a.npz").items()} == {"w": 100_000, "empty": 0}
    np.save(tmp_path / "a.npy", np.zeros((0, 3)))
    assert read(tmp_path / "a.npy") == {"array": []}
    torch_file(tmp_path / "a.pt", shared(3), **{"0": np.ones(2, "<f4").tobytes()})
    assert read(tmp_path / "a.pt") == {str(number): [1.0, 1.0] for number in range(4)}


def test_what_a_run_wrote_is_kept_in_its_order_and_the_last_is_final(tmp_path):
    folder = RunFolder(tmp_path, Run(variant="algo", index=0))
    cwd = folder.work / "project"
    (cwd / "saved").mkdir(parents=True)
    np.save(cwd / "saved" / "old.npy", np.zeros(1))
    before = checkpoint_states("saved/*.npy", cwd)
    folder.info_file.write_text("{}")
    # These times lie before the run's: the clock was set back.
    for second, name in enumerate(("b", "c", "a"), 10):
        np.save(cwd / "saved" / f"{name}.npy", np.full(2, float(second)))
        os.utime(cwd / "saved" / f"{name}.npy", (second, second))
    assert keep_checkpoints("saved/*.npy", cwd, folder, before) == []
    kept = read_weights(SimpleNamespace(folder=folder, outcome=None))
    assert list(kept.moments) == ["saved/b.npy", "saved/c.npy", "saved/a.npy"]
    assert kept.final["array"].tolist() == [12.0, 12.0]
    assert keep_checkpoints("nothing/*.pt", cwd, folder, {}) == [
        "It wrote no file that --weights 'nothing/*.pt' matches."
    ]


@pytest.mark.parametrize("weights", ["finally", "every:0", "every:-1", "every:x", "../a.pt", "/tmp/a.pt", "a.pkl"])
def test_what_cannot_be_kept_is_refused_before_anything_runs(weights):
    with pytest.raises(BadOption, match="--weights must be"):
        check_request(Request(command=["python", "train.py"], weights=weights))


@pytest.mark.parametrize("weights", ["none", "digest", "final", "every:3", "*.pt", "runs/**/last.safetensors"])
def test_what_can_be_kept_is_taken(weights):
    check_request(Request(command=["python", "train.py"], weights=weights))
