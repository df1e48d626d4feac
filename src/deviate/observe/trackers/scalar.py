"""One value that a program logged with a tracker."""

from __future__ import annotations

import msgspec


class Scalar(msgspec.Struct, frozen=True):
    """One point of one series."""

    #: The author's name of the series: tag of TensorBoard, key of MLflow and wandb.
    tag: str
    #: As the author counts, or as the tracker does where the author gives none.
    step: int
    #: Unix seconds; NaN where the tracker did not store it.
    wall_time: float
    value: float
