"""What is asked of the records of runs, in SQL; `record` is the view of `RECORDS`, or of `NO_RECORDS`."""

from __future__ import annotations

from collections.abc import Iterable

#: The records of files, and those of runs whose files cannot be written.
STORED = "SELECT * FROM read_parquet({files}, filename = true, file_row_number = true)"
HELD = "SELECT * FROM held"

# What a Parquet file has, what is said of it, and the numbers of its rows and columns.
COLUMNS = "SELECT * FROM read_parquet($path)"
NOTES = "SELECT key, value FROM parquet_kv_metadata($path)"
SHAPE = """
SELECT num_rows, (SELECT count(*) FROM parquet_schema($path) WHERE type IS NOT NULL) FROM parquet_file_metadata($path)
"""

# One row a record, in the order each run wrote them.
RECORDS = """
SELECT files.variant, files.run, files.place, files.part, files.prefix || metric::VARCHAR AS metric,
       source + CASE WHEN source < 0 THEN 0 ELSE files.first END AS source, iteration, elapsed_s, value,
       process::VARCHAR AS process, file_row_number AS position, files.repeat
FROM ({stored}) AS stored
JOIN files ON stored.filename = files.filename
WHERE files.prefix = '' OR metric <> '{tick}'
UNION ALL SELECT * FROM observed
"""

# Order statistics pass over NaN (DuckDB would call it the greatest number); `last` and `mean` show it.
AGGREGATES = """
SELECT variant, run, metric, max(source) AS source,
       arg_max(value, position) AS last, avg(value) AS mean,
       max(value) FILTER (NOT isnan(value)) AS max, min(value) FILTER (NOT isnan(value)) AS min,
       count(*) AS reports
FROM record WHERE metric <> $tick GROUP BY place, variant, run, metric, repeat ORDER BY place, metric, repeat
"""

AT = """
SELECT variant, run, metric, arg_max(value, position) AS value
FROM record WHERE metric = $metric AND iteration = $iteration
GROUP BY place, variant, run, metric, repeat ORDER BY place, repeat
"""

# Trapezia between the iterations that reported, of each the last value; NaN of a run that diverged stays NaN.
AREA = """
WITH points AS (
    SELECT place, variant, run, repeat, iteration, arg_max(value, position) AS value
    FROM record WHERE metric = $metric GROUP BY place, variant, run, repeat, iteration
), steps AS (
    SELECT place, variant, run, repeat, value,
           iteration - lag(iteration) OVER curve AS width, lag(value) OVER curve AS before
    FROM points WINDOW curve AS (PARTITION BY place, repeat ORDER BY iteration)
)
SELECT variant, run, coalesce(sum((value + before) / 2 * width) / sum(width), any_value(value)) AS value
FROM steps GROUP BY place, variant, run, repeat ORDER BY place, repeat
"""

VALUES_AT = """
SELECT run, iteration, metric, value FROM record
JOIN (SELECT unnest($runs::BIGINT[]) AS run, unnest($iterations::BIGINT[]) AS iteration) USING (run, iteration)
WHERE variant = $variant AND metric <> $tick
UNION ALL
SELECT run, $last, metric, arg_max(value, position) FROM record
WHERE variant = $variant AND metric <> $tick GROUP BY run, metric
"""

# Of several processes with a main loop, the one that went through most iterations tells the time.
ITERATION_TIMES = """
WITH steps AS (
    SELECT place, variant, run, process,
           elapsed_s - lag(elapsed_s) OVER (PARTITION BY place, process ORDER BY position) AS step
    FROM record WHERE metric = $tick
), timed AS (
    SELECT place, variant, run, count(step) AS steps, median(step) AS value
    FROM steps GROUP BY place, variant, run, process HAVING count(step) > 0
)
SELECT variant, run, arg_max(value, steps) AS value FROM timed GROUP BY place, variant, run ORDER BY place
"""

LOOPED = "SELECT DISTINCT variant FROM record WHERE metric = $tick"

NO_RECORDS = """
SELECT ''::VARCHAR AS variant, 0::BIGINT AS run, 0::BIGINT AS place, 0::BIGINT AS part, ''::VARCHAR AS metric,
       0::INTEGER AS source, 0::INTEGER AS iteration, 0::DOUBLE AS elapsed_s, 0::DOUBLE AS value,
       ''::VARCHAR AS process, 0::BIGINT AS position, 0::BIGINT AS repeat
WHERE false
"""


def quoted(text: object) -> str:
    """Return a text as SQL has it."""
    return "'" + str(text).replace("'", "''") + "'"


def listed(words: Iterable[object]) -> str:
    """Return words as a list in SQL."""
    return f"[{', '.join(map(quoted, words))}]"
