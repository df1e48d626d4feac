"""Final weights of runs, from files of the format safetensors."""

import struct

import numpy as np
import pytest

from deviate.facts.weights import RunWeights, weight_facts
from deviate.observe.weights import read_tensors
from deviate.report.topics.stability import weight_sentences
from deviate.store.integrity import DamagedError

#: What safetensors 0.6 writes of ``{"a": float32 [[1.5, 2]], "b": int64 [3]}`` with metadata.
WRITTEN = bytes.fromhex(
    "90000000000000007b225f5f6d657461646174615f5f223a7b22666f726d6174223a227074227d2c2262223a7b226474797065223a2249363422"
    "2c227368617065223a5b315d2c22646174615f6f666673657473223a5b302c385d7d2c2261223a7b226474797065223a22463332222c22736861"
    "7065223a5b312c325d2c22646174615f6f666673657473223a5b382c31365d7d7d20202003000000000000000000c03f00000040"
)


def stored(tmp_path, header, data=b""):
    path = tmp_path / "weights-torch-1.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


def test_a_file_of_the_library_is_read(tmp_path):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(WRITTEN)
    tensors = read_tensors(path)
    assert tensors.keys() == {"a", "b"}
    assert tensors["a"].tolist() == [[1.5, 2.0]]
    assert tensors["b"].tolist() == [3]


def test_bfloat16_is_read_as_the_numbers_it_holds(tmp_path):
    header = b'{"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    path = stored(tmp_path, header, struct.pack("<HH", 0x3FC0, 0xC000))
    assert read_tensors(path)["w"].tolist() == [1.5, -2.0]


@pytest.mark.parametrize("cut", [0, 7, 30, -1])
def test_a_file_that_was_cut_is_damaged(tmp_path, cut):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(WRITTEN[:cut])
    with pytest.raises(DamagedError, match=r"weights\.safetensors is damaged"):
        read_tensors(path)


@pytest.mark.parametrize(
    "entry",
    [
        b'"dtype":"F32","shape":[4],"data_offsets":[0,8]',
        b'"dtype":"F32","shape":[2],"data_offsets":[-8,0]',
        b'"dtype":"F32","shape":[2],"data_offsets":[8,16]',
        b'"dtype":"F128","shape":[1],"data_offsets":[0,8]',
        b'"shape":[1]',
    ],
)
def test_a_header_that_does_not_fit_is_damage(tmp_path, entry):
    path = stored(tmp_path, b'{"w":{' + entry + b"}}", bytes(8))
    with pytest.raises(DamagedError):
        read_tensors(path)


def weights(*layers):
    return {f"r-{index}": RunWeights(layers={"w": np.array(each)}) for index, each in enumerate(layers)}


def test_distances_are_those_of_directions():
    facts = weight_facts("control", weights([3.0, 0.0], [0.0, 7.0]), 0.95)
    assert facts.distance.value == pytest.approx(np.sqrt(2))
    assert [(layer.name, layer.elements) for layer in facts.layers] == [("w", 2)]
    assert weight_facts("control", weights([3.0], [7.0]), 0.95).layers == []  # no direction
    assert weight_sentences(facts)[0].startswith(
        "The final weights of two runs, each brought to length 1, are 1.41 apart"
    )


def test_what_cannot_be_compared_says_why():
    other = weight_facts("control", weights([3.0, 0.0], [1.0]), 0.95)
    assert weight_sentences(other) == [
        "Final weights are not compared: the runs have other layers, or layers of other shapes."
    ]
    damaged = {**weights([1.0]), "r-1": RunWeights(reason="weights-torch-1 is missing")}
    assert weight_facts("control", damaged, 0.95).withheld == "weights-torch-1 is missing"
