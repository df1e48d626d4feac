"""The frameworks and numerical libraries that trainings use: one record each, read by whoever needs to know of them."""

from deviate.frameworks.framework import Framework as Framework
from deviate.frameworks.records import FRAMEWORKS as FRAMEWORKS
