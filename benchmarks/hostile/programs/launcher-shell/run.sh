#!/usr/bin/env bash
# Prepare, train, evaluate, as in many repositories.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
: "${EPOCHS:=5}"
out=results/$(printf 'lr%s' 0.5)
mkdir -p "$out"
args=(--epochs "$EPOCHS" --out "$out")
python train.py "${args[@]}" | tee "$out/log.txt"
test "$(wc -l < "$out/log.txt")" -eq "$EPOCHS"
python - "$out" <<'PY'
import sys
print("last line:", open(sys.argv[1] + "/log.txt").read().splitlines()[-1])
PY
