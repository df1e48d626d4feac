"""PyTorch: generators, modules, loaders of data, optimizers."""
