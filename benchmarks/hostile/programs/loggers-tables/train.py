import csv
import json
import sqlite3
from array import array
from random import Random

from tqdm import tqdm

base = sqlite3.connect("log.sqlite")
base.execute("create table log (epoch int, loss real)")
losses, w = array("d"), Random(1).uniform(2, 4)
with open("log.csv", "w", newline="") as table, open("log.jsonl", "w") as lines:
    writer = csv.DictWriter(table, ["epoch", "loss"])
    writer.writeheader()
    for epoch in (bar := tqdm(range(5), disable=True)):
        loss = w**2
        w *= 0.6
        losses.append(loss)
        bar.set_postfix(loss=loss)
        writer.writerow({"epoch": epoch, "loss": loss})
        lines.write(json.dumps({"epoch": epoch, "loss": loss}) + "\n")
        base.execute("insert into log values (?, ?)", (epoch, loss))
base.commit()
print("rows", base.execute("select count(*), round(sum(loss), 6) from log").fetchone())
with open("losses.bin", "wb") as file:
    losses.tofile(file)
