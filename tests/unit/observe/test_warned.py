"""Operations without a deterministic form are listed, whoever told of them."""

from __future__ import annotations

from made import make_experiment, make_run, metric, read

from deviate.observe.events import WarnedOperation, warned_operations


def test_operations_are_heard_of_from_the_runtime_and_from_standard_error(tmp_path):
    folder = make_experiment(tmp_path, [metric("loss")])
    told = {"event": "nondeterministic", "operation": "cumsum_cuda_kernel"}
    first = make_run(folder, 0, [(0, 0, 1.0, 0.5)], events=[told, told])
    second = make_run(folder, 1, [(0, 0, 1.0, 0.5)], events=[told])
    second.stderr_file.write_text(
        "a.py:3: UserWarning: put_ does not have a deterministic implementation, but you set ...\nharmless\n"
    )
    assert warned_operations(read([first, second])) == [
        WarnedOperation(operation="cumsum_cuda_kernel", runs=["control-0", "control-1"]),
        WarnedOperation(operation="put_", runs=["control-1"]),
    ]
