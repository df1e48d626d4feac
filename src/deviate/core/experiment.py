"""What an experiment is made of, and what its source shows: plain frozen data, which every stage shares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

Kind = Literal["quality", "loss", "speed", "resource"]
Direction = Literal["higher", "lower"]
Status = Literal["completed", "failed", "timed-out", "cancelled", "not-instrumented"]

#: Version of every file and JSON object Deviate writes.
SCHEMA = 1

#: Runs of a variant where the user does not say: for a first look. With 10 the SD is known within 0.69 to 1.83 of
#: itself (95 % CI, normal values).
DEFAULT_RUNS = 10

#: Between the name of an experiment and those of its cells.
AT = "@"

#: The variant of runs that Deviate did not make: what varied between them is not known.
IMPORTED = "imported"


#: What is kept of predictions, where the user does not say.
DEFAULT_PREDICTIONS = "labels"

#: What is kept of weights, where the user does not say.
DEFAULT_WEIGHTS = "small"


class Span(msgspec.Struct, frozen=True):
    """A piece of source text as `ast` counts it: lines from 1, columns in UTF-8 bytes from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """How the values of a metric are recorded.

    ``value``      the expression at `span` is the value (a number, or something float() reads)
    ``mapping``    the expression at `span` is a mapping; each of its numbers is recorded under its key
    ``beside``     when the expression at `span` is evaluated, the name `beside` holds the value
    ``framework``  a framework's own training loop reports it; nothing in the source is wrapped
    """

    how: Literal["value", "mapping", "beside", "framework"]
    #: The expression that is wrapped; None for ``framework``.
    span: Span | None = None
    #: For ``beside``: a dotted name that is bound wherever `span` is evaluated.
    beside: str = ""
    #: Dotted attributes read off the object to get at the number (``avg`` of a meter); data, never a call.
    reads: str = ""
    #: A bare name in scope whose text at run time fills ``{name}`` in the metric's name (``split``).
    label: str = ""
    #: Name under which a framework reports the value, where one does: ``fit:val_loss``, or the tag of a TensorFlow 1
    #: summary. A part in braces stands for any text. What the source yields itself is not recorded again under it.
    key: str = ""


#: How often code runs: once in a round of the main loop, in a loop within that, after it; empty: not known.
Pace = Literal["round", "within", "end", ""]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A value the project reports that says how good or how costly training is."""

    name: str
    #: The root that names the value, wrappers removed.
    variable: str
    expression: str
    #: Relative to the project, with forward slashes.
    file: str
    line: int
    end_line: int
    function: str
    sink: str
    kind: Kind
    direction: Direction | None
    #: ``last``, ``best``, ``mean``, ``max``, ``min``, ``area`` or ``at ITERATION``.
    aggregate: str
    confidence: float
    why: str
    selected: bool = True
    capture: Capture
    #: Where else in the file it is recorded: what a loop reports in some of its rounds, and once more when it is done.
    further: list[Capture] = []
    #: Digits behind the point, as the program writes it; None where it leaves that open.
    decimals: int | None = None
    #: ``%`` where the program writes that behind it; empty where it writes nothing.
    unit: str = ""
    #: How often it is reported.
    pace: Pace = ""
    #: Whether the user said that it leads.
    main: bool = False


class ObservedWish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the user says of a number that runs report in text, whether or not it is a metric by what is printed."""

    #: As it is listed where nothing is said of it.
    name: str
    #: What it is to be called; empty: as it is listed.
    rename: str = ""
    #: False: it is no metric. True: it is one.
    metric: bool = True
    aggregate: str = "last"
    #: None: by name and unit.
    direction: Direction | None = None
    kind: Kind | None = None


#: Names of a main loop's variable that say what it counts; of others an iteration: ``ep`` is an epoch or an episode.
_COUNTED = (
    (re.compile(r"epoch", re.IGNORECASE), "epoch"),
    (re.compile(r"step", re.IGNORECASE), "step"),
    (re.compile(r"episode", re.IGNORECASE), "episode"),
)

#: How the values of a run become one, with what its main loop counts.
_TAKEN = {
    "last": "last {}",
    "best": "best {}",
    "mean": "mean over {}s",
    "max": "largest of {}s",
    "min": "smallest of {}s",
    "area": "area over {}s",
}


class MainLoop(msgspec.Struct, frozen=True, kw_only=True):
    """The loop whose iterations the records count."""

    file: str
    line: int
    variable: str
    kind: Literal["for", "while", "call"]
    why: str
    #: The iterable of a ``for``, the condition of a ``while``; None for a framework's call.
    span: Span | None = None
    #: Rounds that it has by the options of the command; None where these do not tell, or it may end earlier.
    rounds: int | None = None

    @property
    def word(self) -> str:
        """What a round of it is called, as far as its variable says so.

        >>> [MainLoop(file="", line=3, variable=name, kind="for", why="").word for name in ("n_episode", "ep")]
        ['episode', 'iteration']
        """
        return next((word for name, word in _COUNTED if name.search(self.variable)), "iteration")

    def value_taken(self, aggregate: str) -> str:
        """Say which of its values stands for a run; another aggregate than those of a run as it is.

        >>> loop = MainLoop(file="train.py", line=3, variable="epoch", kind="for", why="")
        >>> loop.value_taken("last"), loop.value_taken("mean"), loop.value_taken("at 5")
        ('last epoch', 'mean over epochs', 'at epoch 5')
        """
        if aggregate in _TAKEN:
            return _TAKEN[aggregate].format(self.word)
        return aggregate.replace("at ", f"at {self.word} ", 1)


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """One of several Python scripts that a command starts."""

    #: Relative to the project, with forward slashes.
    entry: str
    #: None where it has none that is counted.
    main_loop: MainLoop | None = None


def further_loops(main_loop: MainLoop | None, scripts: Sequence[Script]) -> list[MainLoop]:
    """Return the main loops of scripts other than `main_loop`, each once."""
    known = main_loop and (main_loop.file, main_loop.line)
    loops = {(loop.file, loop.line): loop for script in scripts if (loop := script.main_loop) is not None}
    return [loop for place, loop in loops.items() if place != known]


#: Reason of a draw whose factor ``--set factor`` sets.
SET_BY_OPTION = "set by --set factor"


class Draw(msgspec.Struct, frozen=True, kw_only=True):
    """A call in the project's own files that draws random numbers."""

    #: Relative to the project, with forward slashes.
    file: str
    line: int
    function: str
    #: What is called, by its dotted name where that is known: ``torch.randperm``; else as it is written.
    call: str
    #: The factor it is of; ``seed`` where its value becomes a seed.
    factor: str
    why: str
    #: Whether names alone tell the factor: nothing that is done with the value was seen to agree.
    by_name: bool = False
    #: The callee, which is wrapped: ``rng.permutation`` of ``rng.permutation(n)``; None where it is left as it is.
    span: Span | None
    #: Set in ``deviate.toml`` or by ``--set factor``: then it is of its factor wherever it runs, also of ``other``.
    by_hand: bool = False


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Predictions compared with targets in the project's own files: ``(predicted == target).sum()``."""

    #: Relative to the project, with forward slashes.
    file: str
    line: int
    function: str
    left: Span
    right: Span
    #: Whether the left side is the target, by its name.
    target_first: bool = False


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One training of an experiment."""

    variant: str
    index: int

    @property
    def folder(self) -> str:
        """Name of the run's folder and the word users type for it."""
        return f"{self.variant}-{self.index}"


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """Where the results of an experiment came from that Deviate did not run."""

    #: ``csv``, ``json``, ``tensorboard``, ``mlflow``, ``wandb`` or ``log``.
    format: str
    #: Paths as the user typed them.
    sources: list[str]
    #: What the source calls each run, by its index.
    labels: dict[str, str]
    #: What a reader of the results has to know about how they were read.
    notes: list[str] = []
    #: What its runs were taken for without a proof; empty where the notes say that they may be something else.
    assumed: str = ""


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """The precision at which runs are enough, fixed before the first of them."""

    metric: str
    #: What is to be known: the mean of the runs, or their SD.
    of: Literal["mean", "sd"] = "mean"
    #: Half-width of the interval: in the unit of the metric, or a share (0.02 is 2 %) where `relative`. One of an SD is
    #: always relative, and says how far the farther end may be.
    width: float
    relative: bool = False
    #: Runs before the first look, and runs after which it ends however wide the interval is.
    least: int
    most: int
    #: Confidence level.
    level: float = 0.95

    @property
    def text(self) -> str:
        """The criterion as it is typed."""
        width = f"{100 * self.width:.10g}%" if self.relative else f"{self.width:g}"
        return f"{self.metric}{' sd' if self.of == 'sd' else ''} ±{width}"


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The experiment that runs are compared with until a difference is shown, fixed before the first of them."""

    #: ``EXPERIMENT`` or ``EXPERIMENT:VARIANT``, as it was typed.
    against: str
    #: Empty for the main one.
    metric: str = ""
    #: Whose runs are added.
    variant: str
    #: Runs before the first look, and runs after which it ends whatever is shown.
    least: int
    most: int

    @property
    def text(self) -> str:
        """The criterion as it is typed."""
        return f"{self.metric} decided against {self.against}".lstrip()


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where runs are made, in the words that were typed for it."""

    #: By its word in `deviate.runs.executors.executor`.
    executor: str
    #: Options of a cluster; None: as ``deviate.toml`` says.
    partition: str | None = None
    time: str | None = None
    gres: str | None = None
    cpus: int | None = None
    address: str | None = None
    #: Runs at a time at most, on a cluster.
    jobs: int | None = None
    scratch: str | None = None


When = Literal["setup", "evaluate", "cleanup"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A command beside the training, in the folder of each run: before it, after it has completed, or at the end."""

    #: ``setup``, ``cleanup``, or the name of the evaluation.
    name: str
    when: When = "evaluate"
    command: list[str]
    #: The Python script it starts, relative to the project; empty where none is known: then its output alone is read.
    entry: str = ""
    #: How often it is run in each run's folder.
    repeat: int = 1
    #: Threads for its libraries; None: as many as the training has.
    threads: int | None = None
    #: ``cpu``, or the GPUs it sees, as CUDA_VISIBLE_DEVICES has them; None: as the training.
    device: str | None = None
    #: Variables of its environment beside those of the training.
    environment: dict[str, str] = {}
    #: The interpreter in place of the command's ``python``; empty: that of the command.
    python: str = ""
    metrics: list[Metric] = []
    main_loop: MainLoop | None = None
    draws: list[Draw] = []
    #: Digests of the files of the project that it was read from, by path.
    sources: dict[str, str] = {}
    #: Those of them that the training does not read.
    own: list[str] = []
    #: What could not be instrumented, and why.
    notes: list[str] = []
    #: The scripts, where it starts several.
    scripts: list[Script] = []

    @property
    def is_evaluation(self) -> bool:
        """Whether its metrics are metrics of the experiment."""
        return self.when == "evaluate"

    @property
    def is_command_alone(self) -> bool:
        """Whether ``--then`` with its command says all of it."""
        return self.repeat == 1 and not (self.threads or self.device is not None or self.environment or self.python)

    @property
    def prefix(self) -> str:
        """What the names of its metrics begin with."""
        return f"{self.name}: "


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """A named command with its metrics, as it was when its snapshot was taken."""

    schema: int = SCHEMA
    name: str
    #: The words the user typed after ``--``.
    command: list[str]
    #: The folder the user stood in, relative to the project.
    folder: str = "."
    entry: str
    metrics: list[Metric]
    main_loop: MainLoop | None
    #: Draws in the project's own files; one's id is its place.
    draws: list[Draw] = []
    #: Digest of the snapshot: runs of two different sources never mix.
    source: str
    #: All seeds of all runs derive from it.
    seed: int
    #: Runs planned of each variant, in the order in which the variants were requested.
    planned: dict[str, int]
    #: Local time in ISO 8601.
    created: str
    #: What could not be instrumented, and why.
    notes: list[str] = []
    #: Digests of the files outside the project that were read, by their absolute paths.
    outside: dict[str, str] = {}
    #: None for what Deviate ran.
    imported: Imported | None = None
    #: What decided how many runs were made; None where the user did.
    until: Until | None = None
    #: Words of ``deviate run`` beside ``-n``, ``--vary``, ``--seed`` and ``--until`` that make the same runs.
    options: list[str] = []
    #: Variables that decide which code runs, as they were set where it was made.
    variables: dict[str, str] = {}
    #: Where the source compares predictions with targets; one's id is its place.
    comparisons: list[Comparison] = []
    #: What is kept of predictions: ``none``, ``labels`` (with the score of each label), ``scores`` of all classes, with
    #: ``:every`` behind either the labels of every evaluation pass too; or the file that each run writes.
    predictions: str = DEFAULT_PREDICTIONS
    #: What is kept of weights: ``none``, the ``digest`` of those that each run ends with, these ``final`` weights
    #: themselves or only ``small`` ones, those after ``every:K`` iterations of the main loop too, or the files that
    #: match a pattern.
    weights: str = DEFAULT_WEIGHTS
    #: What decided how many runs were made, where that was a comparison.
    decided: Decided | None = None
    #: What the user says of numbers that runs report in text.
    observed: list[ObservedWish] = []
    #: Commands beside the training, in the folder of each run.
    steps: list[Step] = []
    #: By variant, runs that were asked for and not made, because each would have drawn what the first one drew.
    needless: dict[str, int] = {}
    #: The scripts of the command, where it starts several: `entry` is the one of them that trains.
    scripts: list[Script] = []
    #: Where its runs were made last; None: on this machine, and nobody said so.
    placement: Placement | None = None
    #: Digest of what its runs read from standard input; empty where they read nothing.
    stdin: str = ""

    @property
    def entries(self) -> list[str]:
        """The scripts that were read."""
        return [script.entry for script in self.scripts] or ([self.entry] if self.entry else [])

    @property
    def word(self) -> str:
        """What a round of the main loop is called."""
        return self.main_loop.word if self.main_loop else "iteration"

    @property
    def further_loops(self) -> list[MainLoop]:
        """The main loops of its other scripts."""
        return further_loops(self.main_loop, self.scripts)

    @property
    def loops(self) -> list[MainLoop]:
        """The main loops of all of its scripts, its own first."""
        return [*([self.main_loop] if self.main_loop is not None else []), *self.further_loops]

    @property
    def evaluations(self) -> list[Step]:
        """The steps whose metrics are metrics of the experiment."""
        return [step for step in self.steps if step.is_evaluation]

    @property
    def all_metrics(self) -> list[Metric]:
        """The metrics of the training, then those of the evaluations under the names that they have in results."""
        return [
            *self.metrics,
            *(
                msgspec.structs.replace(metric, name=step.prefix + metric.name)
                for step in self.evaluations
                for metric in step.metrics
            ),
        ]

    def of_step(self, step: Step) -> Experiment:
        """Return the experiment as a step sees it: with its command and what its source reports and draws."""
        return msgspec.structs.replace(
            self,
            command=step.command,
            entry=step.entry,
            metrics=step.metrics,
            main_loop=step.main_loop,
            draws=step.draws,
            comparisons=[],
            predictions="none",
            weights="none",
            scripts=step.scripts,
            stdin="",
        )


Reason = Literal["setting", "counter", "identifier", "path", "constant", "unreached"]


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """A reported value that is not a metric, with the reason."""

    variable: str
    file: str
    line: int
    reason: Reason
    #: Of a metric that this command does not report: its name, and the option that makes the program report it.
    name: str = ""
    needs: str = ""


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the entry reaches and that could not be parsed."""

    file: str
    line: int
    error: str


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the analysis of one project."""

    schema: int = SCHEMA
    entry: str
    main_loop: MainLoop | None
    metrics: list[Metric]
    rejected: list[Rejected] = []
    #: Calls in the project's own files that draw random numbers, with the factor each is of.
    draws: list[Draw] = []
    unreadable: list[Unreadable] = []
    #: Files that were read, relative to the project; absolute for those outside it.
    files: list[str] = []
    #: Files outside the project that were read or tried, since imports may lead there.
    outside: list[str] = []
    #: Where the project's own files compare predictions with targets.
    comparisons: list[Comparison] = []
    #: Whether the main loop is known to train, and does not merely report.
    trains: bool = False
    #: Those of a command that starts several, in their order.
    scripts: list[Script] = []
