"""What operations were given, or left, in the first run, put in place of what they have in the second."""

import os

from .digests import plain

#: Bytes that are kept of one operation.
MOST = 1 << 30


class Kept:
    """The operations of one process that something is put in place of.

    Attributes
    ----------
    places : dict
        By where an operation is called (`place_of`): the number of its file, and whether what it is given is meant.
    """

    def __init__(self, torch, diverging):
        self.torch = torch
        self.is_second = diverging.put_from is not None
        self.folder = diverging.put_from or diverging.process.config["records"]
        self.places = {tuple(place): (number, given) for number, (place, given) in enumerate(diverging.put)}
        self.offsets = {}
        self.process = os.getpid()

    def put(self, record, tensors, *, is_given=False, generator=None):
        """Keep the content of tensors in the first run; in the second, put what was kept in its place."""
        number, given = self.places.get(place_of(record), (None, None))
        if given is not is_given or os.getpid() != self.process:
            return
        states = [self.torch._C.Generator.get_state(generator)] if generator is not None else []
        path = os.path.join(self.folder, "kept-%d" % number)
        with open(path, "rb" if self.is_second else "ab") as file:
            file.seek(self.offsets.get(number, 0))
            for tensor in [*tensors, *states]:
                self.replace(file, tensor) if self.is_second else self.keep(file, tensor)
            self.offsets[number] = file.tell()
        if states and self.is_second:
            self.torch._C.Generator.set_state(generator, states[0])

    def keep(self, file, tensor):
        """Append the content of a tensor."""
        if file.tell() < MOST:
            file.write(plain(self.torch, tensor).contiguous().view(-1).view(self.torch.uint8).numpy().data)

    def replace(self, file, tensor):
        """Give a tensor the content that is next in the file; nothing where that is over."""
        data = bytearray(file.read(tensor.numel() * tensor.element_size()))
        if data and len(data) == tensor.numel() * tensor.element_size():
            kept = self.torch.frombuffer(data, dtype=self.torch.uint8).view(tensor.dtype).view(tensor.shape)
            # This way autograd sees no change.
            tensor.data.copy_(kept)


def place_of(record):
    """Return where and in which phase an operation is called, as both runs have it."""
    return (record["op"], record.get("module", ""), record.get("file", ""), record.get("line", 0), record["phase"])
