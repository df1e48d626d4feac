"""A trainer of another file runs a loop without end; a package hands it on."""

# expect loss = loss (\S+)

from small import Trainer


def main():
    Trainer(steps=3).train()


if __name__ == '__main__':
    main()
