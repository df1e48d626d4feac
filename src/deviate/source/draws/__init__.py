"""Draws of random numbers in the project's own files: where they are, and which factor each is of."""

from deviate.source.draws.classify import COMPILED as COMPILED
from deviate.source.draws.classify import find_draws as find_draws
