"""Write a small citation network in Cora's format: `cora.py FOLDER [NODES]`."""

import random
import sys
from pathlib import Path

folder, nodes = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1600
topics = ["Case", "Genetic", "Networks", "Probabilistic", "Learning", "Rules", "Theory"]
draw = random.Random(1)
folder.mkdir(parents=True, exist_ok=True)
with (folder / "cora.content").open("w") as content, (folder / "cora.cites").open("w") as cites:
    for node in range(nodes):
        topic = draw.randrange(7)
        words = [int(draw.random() < (0.4 if word % 7 == topic else 0.05)) for word in range(56)]
        words[topic] = 1
        print(node, *words, topics[topic], sep="\t", file=content)
        for _ in range(2):
            print(draw.randrange(nodes), node, sep="\t", file=cites)
