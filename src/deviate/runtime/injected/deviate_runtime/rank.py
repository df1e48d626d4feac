"""Learn this process's rank among the processes of a distributed training."""

VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK")

#: Iterations of the main loop at whose start the rank is read; a training is distributed before its loop or never.
READS = 3


def from_environment(environment):
    """Return the rank a launcher gave, None where there is none."""
    for variable in VARIABLES:
        text = environment.get(variable, "")
        if text.isdigit():
            return int(text)
    return None


def from_libraries(modules):
    """Return the rank that a loaded library knows, without making it start anything."""
    distributed = modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    jax_distributed = modules.get("jax._src.distributed")
    state = getattr(jax_distributed, "global_state", None)
    if state is not None and getattr(state, "client", None) is not None:
        return state.process_id
    return None
