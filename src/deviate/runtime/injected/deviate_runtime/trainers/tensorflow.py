"""Summaries of a TensorFlow 1 graph: scalars that exist only when the graph is run, seen where they are written."""

import os
import re

from . import Observer


def observe_summaries(module, process):
    """Observe what is handed to a writer of summaries."""
    observer = Observer(process)
    writers = Writers(module, observer)
    transformer = getattr(module, "SummaryToEventTransformer", None)
    observer.before(transformer, "__init__", writers.add_folder)
    observer.before(transformer, "add_summary", writers.record_summary)


class Writers:
    """The writers of this process, distinguished by their folders: ``train`` and ``test`` often write the same tags."""

    def __init__(self, module, observer):
        self.module = module
        self.observer = observer
        self.folders = set()

    def add_folder(self, writer, event_writer, *args, **kwargs):
        """Remember where a writer writes to."""
        self.folders.add(folder_of(event_writer))

    def record_summary(self, writer, summary, *args, **kwargs):
        """Record the scalars of a summary, which is a message or its bytes."""
        if isinstance(summary, bytes):
            summary = self.module.summary_pb2.Summary.FromString(summary)
        folder = folder_of(writer.event_writer) if len(self.folders) > 1 else ""
        for value in summary.value:
            if value.HasField("simple_value"):
                self.record(value.tag, value.simple_value, folder)

    def record(self, tag, value, folder):
        """Record a value under its tag, as the metric that the source names so where the graph added a scope."""
        names = self.observer.process.recorder.names
        bare = re.sub(r"_\d+$", "", tag.rpartition("/")[2])
        owner = names.statics.get(tag, names.statics.get(bare))
        if owner is None or (tag in names.statics and not folder):
            self.observer.report({tag: value}, prefix=folder and folder + "/")
        else:
            self.observer.process.recorder.named(owner, folder + "/" + tag if folder else tag, value)


def folder_of(event_writer):
    """Return the last part of the folder that is written to."""
    folder = os.fsdecode(event_writer.get_logdir())
    return os.path.basename(os.path.normpath(folder))
