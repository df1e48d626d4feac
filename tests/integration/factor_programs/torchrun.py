"""What the command `torchrun` runs; the processes it starts are its own."""

from torch.distributed.run import main

main()
