"""Run the parts of the training from their files, and note which text was run."""
import zlib
from pathlib import Path

here = Path(__file__).parent
space = {"__name__": "part"}
for part in ("data.py", "loop.py"):
    text = (here / part).read_text()
    print(part, zlib.crc32(text.encode()))
    exec(compile(text, str(here / part), "exec"), space)
space["loop"](4)
