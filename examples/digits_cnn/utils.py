import logging
import os
import random
import sys

import numpy as np
import torch


class AverageMeter:
    """Keeps the last value and the running average."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.val = 0.0
        self.sum = 0.0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def accuracy(output, target, topk=(1,)):
    """Share of the targets among the k highest outputs, in percent."""
    _, pred = output.topk(max(topk), dim=1)
    hits = pred.eq(target.unsqueeze(1))
    return [100.0 * hits[:, :k].any(dim=1).float().mean().item() for k in topk]


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def get_logger(log_file):
    os.makedirs(os.path.dirname(log_file), exist_ok=True)
    logger = logging.getLogger("digits")
    logger.setLevel(logging.INFO)
    formatter = logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S")
    for handler in (logging.StreamHandler(sys.stdout), logging.FileHandler(log_file)):
        handler.setFormatter(formatter)
        logger.addHandler(handler)
    return logger


def save_checkpoint(state, is_best, folder):
    os.makedirs(folder, exist_ok=True)
    torch.save(state, os.path.join(folder, "last.pt"))
    if is_best:
        torch.save(state, os.path.join(folder, "best.pt"))
