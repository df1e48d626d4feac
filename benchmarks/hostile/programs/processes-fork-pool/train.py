"""Evolution: candidates are judged by a forked pool."""
import multiprocessing as mp
import random

import numpy as np

TARGET = np.array([0.5, -1.0, 2.0])


def initialise(seed):
    random.seed(seed)
    np.random.seed(seed)


def fitness(candidate):
    return float(np.sum((candidate - TARGET) ** 2))


def main():
    np.random.seed(3)
    mean, losses = np.zeros(3), []
    with mp.get_context("fork").Pool(2, initializer=initialise, initargs=(5,)) as pool:
        for generation in range(5):
            candidates = [mean + 0.5 * np.random.randn(3) for _ in range(12)]
            scores = pool.map(fitness, candidates, chunksize=3)
            mean = candidates[int(np.argmin(scores))]
            best = min(scores)
            losses.append(best)
            print("generation {}: best loss {:.5f}".format(generation, best))
    np.save("losses.npy", losses)


main()
