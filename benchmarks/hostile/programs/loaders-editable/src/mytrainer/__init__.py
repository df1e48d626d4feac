from mytrainer.engine import fit


def main():
    import sys

    print("console script", sys.argv[0].rsplit("/", 1)[-1], sys.argv[1:])
    return fit(int(sys.argv[1]))
