"""Turn the record files of runs into tables."""

from deviate.collect.aggregates import check_aggregate as check_aggregate
from deviate.collect.events import environment as environment
from deviate.collect.events import environment_differences as environment_differences
from deviate.collect.events import kept_seeds as kept_seeds
from deviate.collect.events import notes as notes
from deviate.collect.events import reached_draws as reached_draws
from deviate.collect.events import replaced_seeds as replaced_seeds
from deviate.collect.events import switches as switches
from deviate.collect.fingerprints import fingerprints as fingerprints
from deviate.collect.identity import compare_runs as compare_runs
from deviate.collect.measured import TIMES as TIMES
from deviate.collect.measured import MeasuredMetric as MeasuredMetric
from deviate.collect.measured import measured_metrics as measured_metrics
from deviate.collect.measured import missing_metrics as missing_metrics
from deviate.collect.tables import included_runs as included_runs
from deviate.collect.tables import recorded_names as recorded_names
from deviate.collect.tables import records as records
from deviate.collect.tables import samples as samples
from deviate.collect.warned import warned_operations as warned_operations
