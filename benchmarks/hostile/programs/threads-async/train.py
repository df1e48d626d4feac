import asyncio
import random
from array import array


async def batches(n):
    for _ in range(n):
        await asyncio.sleep(0)
        yield [random.gauss(1, 0.5) for _ in range(16)]


async def train(epochs):
    w, losses = 0.0, array("d")
    for epoch in range(epochs):
        total = count = 0
        async for batch in batches(4):
            error = [w - x for x in batch]
            w -= 0.3 * sum(error) / len(error)
            total += sum(e * e for e in error)
            count += len(batch)
        loss = total / count
        losses.append(loss)
        print(f"epoch {epoch}: loss={loss:.5f} w={w:.3f}")
    return losses


random.seed(0)
result = asyncio.run(train(5))
with open("losses.bin", "wb") as file:
    result.tofile(file)
