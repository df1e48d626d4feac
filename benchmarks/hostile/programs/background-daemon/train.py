"""Become a daemon by the book (two forks, a session of its own, no descriptors), then train."""
import os
import sys
import time
from array import array
from random import Random


def daemonize():
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in range(3, 64):
        try:
            os.close(number)
        except OSError:
            pass
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open("daemon.log", os.O_WRONLY | os.O_CREAT, 0o644)
    os.dup2(null, 0), os.dup2(log, 1), os.dup2(log, 2)


def main():
    value, losses = Random(1).uniform(2, 4), array("d")
    for epoch in range(6):
        time.sleep(0.5)
        loss = abs(value - 1)
        value = 1 + (value - 1) * 0.4
        losses.append(loss)
        print(f"epoch {epoch} loss {loss:.5f}")
        sys.stdout.flush()
    with open("losses.bin", "wb") as file:
        losses.tofile(file)


print("going to the background", flush=True)
daemonize()
main()
