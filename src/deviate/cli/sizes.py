"""Bytes as people read them."""

from __future__ import annotations


def show_size(size: float) -> str:
    """Return a number of bytes as people read it.

    Examples
    --------
    >>> [show_size(value) for value in (0, 640, 2_900, 999_960, 4.2e6, 31e9)]
    ['0 bytes', '640 bytes', '2.9 kB', '1.0 MB', '4.2 MB', '31.0 GB']
    """
    if size < 1000:
        return f"{size:.0f} {'byte' if size == 1 else 'bytes'}"
    unit = next((each for each in ("kB", "MB") if (size := size / 1000) < 999.95), "GB")
    return f"{size if unit != 'GB' else size / 1000:.1f} {unit}"
