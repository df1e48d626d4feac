"""Facts: numbers, verdicts and reasons as frozen data, without a sentence; `report.text` says them."""
