"""Checkpoints that programs write: read in each format, and nothing in them executed."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from installed import require

from deviate.collect.checkpoints import NoCheckpointError, read_checkpoint
from deviate.collect.weights import read_tensors, read_weights
from deviate.errors import BadOption
from deviate.experiment import Run
from deviate.replicate.checkpoints import keep_checkpoints, states
from deviate.replicate.workspace.folders import RunFolder
from deviate.study.checks import check_request
from deviate.study.request import Request


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


def test_what_a_run_wrote_is_kept_in_its_order_and_the_last_is_final(tmp_path):
    folder = RunFolder(tmp_path, Run(variant="algo", index=0))
    cwd = folder.work / "project"
    (cwd / "saved").mkdir(parents=True)
    np.save(cwd / "saved" / "old.npy", np.zeros(1))
    before = states("saved/*.npy", cwd)
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
