"""Statistics of what a plain loop changes are metrics; units say which way a speed is better."""

import pytest
from analysed_projects import analyse, looped


@pytest.mark.parametrize(
    ("report", "direction"),
    [
        ("print('speed: {:.4f}s/iter'.format(time.time() - start))", "lower"),
        ("print(f'speed {1 / (time.time() - start):.1f} it/s')", "higher"),
        ("print(f'{time.time() - start:.3f} sec/step')", "lower"),
    ],
)
def test_the_unit_of_a_speed_says_which_way_is_better(tmp_path, report, direction):
    (metric,) = analyse(tmp_path, train=looped(f"start = time.time()\n{report}")).metrics
    assert (metric.kind, metric.direction, metric.aggregate) == ("speed", direction, "mean")
