"""`spmm` of torch_sparse, which has to be compiled, by PyTorch's own sparse tensors."""

import torch


def spmm(index, value, m, n, matrix):
    """Return the product of a sparse m by n matrix and a dense one."""
    return torch.sparse.mm(torch.sparse_coo_tensor(index, value, (m, n)), matrix)
