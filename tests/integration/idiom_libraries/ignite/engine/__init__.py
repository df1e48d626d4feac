"""An engine, as the library of this name has."""

from ignite.engine.engine import Engine as Engine
from ignite.engine.engine import Events as Events
