"""The review in the terminal: one screen on which metrics are ticked, renamed and added, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size

from deviate.cli.printing import cut
from deviate.core.errors import DeviateError
from deviate.report.escape import clean

AGGREGATES = ("last", "best", "mean", "max", "min")
DIRECTIONS = ("higher", "lower", "")

HELP = ("space take or leave   n name   d direction", "a one number per run  + add a line    enter save    esc stop")

#: Cells of a name, of an expression, from which on they are cut.
MOST_NAME, MOST_WHAT = 28, 24


@dataclass
class Line:
    """One number that is a metric, or may be one."""

    name: str
    #: As the source has it, or what was read from the output.
    what: str
    where: str
    taken: bool
    direction: str = ""
    aggregate: str = "last"
    #: Why it was left out; empty where it was not.
    reason: str = ""
    #: Its place among what was found; None where it was added.
    found: int | None = None


@dataclass
class Review:
    """What is shown, and what each key does to it. Keys are named as prompt_toolkit names them."""

    lines: list[Line]
    #: Makes a line of what is typed behind ``+``; None where nothing can be added.
    add: Callable[[str], Line] | None = None
    main: str = ""
    at: int = 0
    shows_all: bool = False
    #: What is being typed, the name of a metric or a line to add; None: nothing.
    typing: str | None = None
    text: str = ""
    message: str = ""
    #: Whether it is saved; None while it goes on.
    saved: bool | None = None
    _keys: dict[str, Callable[[], None]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._keys = {
            "up": lambda: self._move(-1), "k": lambda: self._move(-1),
            "down": lambda: self._move(1), "j": lambda: self._move(1),
            " ": self._toggle, "n": self._rename, "+": self._begin_adding, "f": self._show_all,
            "d": lambda: self._turn("direction", DIRECTIONS), "a": lambda: self._turn("aggregate", AGGREGATES),
            "enter": lambda: self._end(saved=True), "escape": lambda: self._end(saved=False),
            "c-c": lambda: self._end(saved=False),
        }  # fmt: skip

    @property
    def shown(self) -> list[Line]:
        """The lines on the screen."""
        return [line for line in self.lines if self.shows_all or not line.reason or line.taken]

    def press(self, key: str) -> None:
        """Do what a key stands for."""
        self.message = ""
        if self.typing is not None:
            self._type(key)
        elif (action := self._keys.get(key)) is not None:
            action()

    def _move(self, by: int) -> None:
        self.at = min(max(self.at + by, 0), max(len(self.shown) - 1, 0))

    @property
    def _line(self) -> Line | None:
        return self.shown[self.at] if self.at < len(self.shown) else None

    def _toggle(self) -> None:
        if (line := self._line) is not None:
            line.taken = not line.taken
            self._move(0)

    def _turn(self, name: str, values: Sequence[str]) -> None:
        if (line := self._line) is not None:
            now = getattr(line, name)
            setattr(line, name, values[(values.index(now) + 1) % len(values) if now in values else 0])

    def _rename(self) -> None:
        if (line := self._line) is not None:
            self.typing, self.text = "name", line.name

    def _begin_adding(self) -> None:
        if self.add is None:
            self.message = "nothing can be added here: numbers are read from the output"
        else:
            self.typing, self.text = "add", ""

    def _show_all(self) -> None:
        self.shows_all = not self.shows_all
        self._move(0)

    def _end(self, *, saved: bool) -> None:
        if saved and not any(line.taken for line in self.lines):
            self.message = "take one at least, with space"
        else:
            self.saved = saved

    def _type(self, key: str) -> None:
        if key in ("escape", "c-c"):
            self.typing = None
        elif key in ("backspace", "c-h"):
            self.text = self.text[:-1]
        elif key == "enter":
            self._take_text()
        elif len(key) == 1 and key.isprintable():
            self.text += key

    def _take_text(self) -> None:
        text, kind = self.text.strip(), self.typing
        line = self._line
        if kind == "name" and line is not None:
            others = {other.name for other in self.lines if other is not line and other.taken}
            if not text or text in others:
                self.message = "a name of its own is needed"
                return
            line.name = text
        elif kind == "add" and self.add is not None:
            try:
                self.lines.append(self.add(text))
            except DeviateError as error:
                self.message = f"{error.message}; {error.hint}" if error.hint else error.message
                return
            self.at = len(self.shown) - 1
        self.typing = None

    def screen(self, width: int) -> list[str]:
        """Return the lines of the screen."""
        shown = self.shown
        files = {line.where.rpartition(":")[0] for line in self.lines}
        alone = len(files) == 1 and "" not in files
        places = [f":{line.where.rpartition(':')[2]}" if alone else line.where for line in shown]
        columns = [
            _column([clean(line.name) for line in shown], MOST_NAME),
            _column([line.direction or "–" for line in shown]),
            _column([line.aggregate for line in shown]),
            _column([clean(line.what) for line in shown], MOST_WHAT),
            [f"{clean(place)}{f'  ({line.reason})' if line.reason else ''}"
             for line, place in zip(shown, places, strict=True)],
        ]  # fmt: skip
        rows = [
            f"{'>' if at == self.at else ' '}[{'x' if line.taken else ' '}] {'★' if line.name == self.main else ' '} "
            + "  ".join(column[at] for column in columns)
            for at, line in enumerate(shown)
        ]
        left = sum(bool(line.reason) and not line.taken for line in self.lines)
        below = [f"  left out: {left} (f shows them)"] if left and not self.shows_all else []
        asked = {"name": "name: ", "add": "FILE:LINE EXPRESSION: "}
        typed = [f"{asked[self.typing]}{clean(self.text)}_"] if self.typing is not None else []
        said = [self.message] if self.message else []
        lines = [*HELP, *rows, *below, *typed, *said]
        return [cut(line.rstrip(), width) for line in lines]


def _column(texts: Sequence[str], most: int | None = None) -> list[str]:
    wide = max(map(cell_len, texts), default=0)
    wide = min(wide, most) if most else wide
    return [set_cell_size(text if cell_len(text) <= wide else f"{text[: wide - 1]}…", wide) for text in texts]


def ask(review: Review) -> bool:
    """Show the review until it is saved or stopped; return whether it was saved."""
    from prompt_toolkit.application import Application, get_app
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.keys import Keys
    from prompt_toolkit.layout import Layout, Window
    from prompt_toolkit.layout.controls import FormattedTextControl

    keys = KeyBindings()
    names: dict[object, str] = {Keys.ControlM: "enter", Keys.ControlH: "backspace"}

    def text() -> str:
        return "\n".join(review.screen(get_app().output.get_size().columns))

    @keys.add(Keys.Any)
    @keys.add(Keys.Up)
    @keys.add(Keys.Down)
    @keys.add(Keys.Enter)
    @keys.add(Keys.Backspace)
    @keys.add(Keys.Escape, eager=True)
    @keys.add(Keys.ControlC)
    def press(event: KeyPressEvent) -> None:
        key = event.key_sequence[0].key
        review.press(names[key] if key in names else str(getattr(key, "value", key)))
        if review.saved is not None:
            event.app.exit()

    control = FormattedTextControl(text, show_cursor=False)
    Application(layout=Layout(Window(control, wrap_lines=False)), key_bindings=keys).run()
    return bool(review.saved)
