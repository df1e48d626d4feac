"""CRC-32C, the checksum of TensorFlow's records; Python's library has only the CRC-32 of Ethernet."""

from __future__ import annotations

#: The polynomial of Castagnoli et al. (1993), reflected.
_POLYNOMIAL = 0x82F63B78

#: TensorFlow stores the checksum rotated and shifted by this, so that a checksum of checksums is no fixed point.
_MASK_DELTA = 0xA282EAD8


def _table() -> list[int]:
    remainders = list(range(256))
    for _ in range(8):
        remainders = [value >> 1 ^ (_POLYNOMIAL if value & 1 else 0) for value in remainders]
    return remainders


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data`.

    Examples
    --------
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, crc = _TABLE, 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Return the CRC-32C of `data` as TensorFlow's record files store it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF
