import logging
import logging.handlers
import sys
from array import array
from random import Random

logger = logging.getLogger("train")
logger.setLevel(logging.DEBUG)
for handler in (logging.FileHandler("train.log"), logging.StreamHandler(sys.stderr)):
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s:%(lineno)d %(funcName)s: %(message)s"))
    logger.addHandler(handler)
memory = logging.handlers.MemoryHandler(100, target=logging.FileHandler("late.log"))
logger.addHandler(memory)


def main():
    w, losses = Random(1).uniform(2, 4), array("d")
    for epoch in range(5):
        loss = (w - 2) ** 2
        w -= 0.4 * (w - 2)
        losses.append(loss)
        logger.info("epoch %d loss %.5f", epoch, loss)
        logger.debug(f"{w=:.3f}")
    with open("losses.bin", "wb") as file:
        losses.tofile(file)


main()
