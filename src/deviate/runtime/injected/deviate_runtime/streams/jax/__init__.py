"""JAX and the libraries on it: keys, modules, optimizers."""
