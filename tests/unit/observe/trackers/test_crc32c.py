"""CRC-32C against the values of RFC 3720, and against what TensorFlow's summary writer stores."""

import pytest

from deviate.observe.trackers.tensorboard import crc32c, masked_crc32c


@pytest.mark.parametrize(
    ("data", "expected"),
    [(bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E), (b"123456789", 0xE3069283)],
)
def test_the_examples_of_rfc_3720_and_of_the_catalogue(data, expected):
    assert crc32c(data) == expected


def test_the_mask_is_the_one_of_tensorboards_writer():
    writer = pytest.importorskip("tensorboard.compat.tensorflow_stub.pywrap_tensorflow")
    assert masked_crc32c(b"some event") == writer.masked_crc32c(b"some event")
