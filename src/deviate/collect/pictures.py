"""Arrays as pictures, in the format PNG."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from deviate.collect.predictions import Array

#: Types of color by number of channels: grey, grey with transparency, red green blue, these with transparency.
COLORS = {1: 0, 2: 4, 3: 2, 4: 6}

#: Channels of a picture in an array: two are more likely something else.
CHANNELS = (1, 3, 4)

#: Pixels of an edge at most; of larger pictures every second pixel is shown, and so on.
LARGEST = 64


def is_picture(shape: tuple[int, ...]) -> bool:
    """Tell whether an array of this shape is a picture: ``(h, w)``, ``(h, w, channels)`` or ``(channels, h, w)``."""
    if len(shape) == 2:
        return min(shape) > 1
    return len(shape) == 3 and min(shape) > 0 and (shape[2] in CHANNELS or shape[0] in CHANNELS)


def picture(array: Array) -> bytes:
    r"""Return a PNG of an array.

    Values of 8 bits are shown as they are, others that lie in 0 to 1 or in 0 to 255 likewise; all others are stretched
    from the least to the greatest of the picture.

    Parameters
    ----------
    array : ndarray of shape (h, w), (h, w, channels) or (channels, h, w)

    Examples
    --------
    >>> picture(np.eye(2))[:4]
    b'\x89PNG'
    """
    channels_last = array if array.ndim == 2 or array.shape[2] in CHANNELS else np.moveaxis(array, 0, 2)
    step = -(-max(channels_last.shape[:2]) // LARGEST)
    pixels = _as_bytes(channels_last[::step, ::step])
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1)
    color = COLORS[rows.shape[1] // width]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)  # a filter's number before each line
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _as_bytes(array: Array) -> Array:
    if array.dtype == np.uint8:
        return array
    values = np.nan_to_num(array.astype(np.float64))
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 255:
        values = (values - low) / ((high - low) or 1.0)
    elif high > 1:
        values = values / 255
    return np.rint(255 * values).astype(np.uint8)
