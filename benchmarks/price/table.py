"""Print what `run.py` measured: ratios of processor times with their 95 % intervals.

python benchmarks/price/table.py [FILE]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from deviate.stats.effects import paired_price


def ratio(rounds: list[dict[str, float]], arm: str) -> str:
    """Show the ratio of an arm to the free one."""
    price = paired_price(arm, "free", "processor time", [(each[arm], each["free"]) for each in rounds if arm in each])
    if price.ratio is None or price.interval is None:
        return ""
    return f"{price.ratio:.3f} ({price.interval.low:.3f} to {price.interval.high:.3f})"


def main() -> None:
    """Print the table."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("measured.json")
    rows = [
        f"| {name} | {ratio(rounds, 'held')} | {ratio(rounds, 'filled')} | {len(rounds)} |"
        for name, rounds in json.loads(path.read_text())["trainings"].items()
    ]
    print("\n".join(["| training | held | held and filled | pairs |", "|---|---:|---:|---:|", *rows]))


if __name__ == "__main__":
    main()
