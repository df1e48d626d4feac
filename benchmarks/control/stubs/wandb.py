"""The calls of Weights & Biases that small programs make, without an account."""


class _Settings(dict):
    """Settings that are read as attributes."""

    __getattr__ = dict.__getitem__


config = _Settings()


def init(*_, **__):
    """Start nothing."""


def log(values, **__):
    """Keep nothing of `values`."""
