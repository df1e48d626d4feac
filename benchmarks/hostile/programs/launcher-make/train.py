from array import array

numbers = [float(line) for line in open("data.txt")]
mean, losses = 0.0, array("d")
for epoch in range(4):
    mse = sum((n - mean) ** 2 for n in numbers) / len(numbers)
    mean += 0.5 * (sum(numbers) / len(numbers) - mean)
    losses.append(mse)
    print("epoch %d, mse %.3f" % (epoch, mse))
array("d", losses).tofile(open("losses.bin", "wb"))
