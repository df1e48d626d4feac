"""What is known of a drawn value that is followed through the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Destination:
    """What becomes of a value; empty where that was not seen."""

    #: How it becomes a parameter.
    learned: str = ""
    #: How it is handed to the training.
    handed: str = ""
    #: Whether it is multiplied with other arrays before the training, as no fresh parameter is.
    multiplied: bool = False


class State(NamedTuple):
    """What an expression is, seen from the draw."""

    #: It is what was drawn, in whatever form; False: it was made of that.
    is_itself: bool = True
    #: The training computes with it.
    is_trained: bool = False
    #: It is a function that gives the value when it is called.
    is_function: bool = False
    #: The training reads it under a name of noise, so what is made of it is no example either.
    is_noise: bool = False
    #: It is in a function that was called before the training: what that function reads is not read by the training,
    #: although the training may call the same function.
    is_early: bool = False
