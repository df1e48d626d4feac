"""PyTorch: what its models return in evaluation, and the batches of its loaders."""
