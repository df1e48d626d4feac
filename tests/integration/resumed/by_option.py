"""Resumes from the file that an option names."""

# resume with: python train.py --resume {checkpoint}

import argparse
import pickle
import random

parser = argparse.ArgumentParser()
parser.add_argument("--resume")
args = parser.parse_args()
random.seed(9)
weight, rate, start = random.random(), 0.05, 1
if args.resume:
    with open(args.resume, "rb") as file:
        saved = pickle.load(file)
    start, weight = saved["epoch"], saved["weight"]
    rate = saved["rate"]  # restores variable rate
    random.setstate(saved["rng"])  # restores generator random
for epoch in range(start, 7):
    for _ in range(10):
        x = random.gauss(0, 1)
        weight -= rate * x * (weight * x - 3 * x)
    rate *= 0.9
    print(f"epoch {epoch} loss {(weight - 3) ** 2:.8f}")
    with open(f"checkpoint_{epoch}.pkl", "wb") as file:
        pickle.dump({"epoch": epoch + 1, "weight": weight, "rate": rate, "rng": random.getstate()}, file)
