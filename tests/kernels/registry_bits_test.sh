#!/bin/bash
# Every kernel gives the same bits with any number of threads, in any mode of the CPU device's
# streams, with its checker on or off. Arguments: the registry_digest program
# and its own.
set -euo pipefail
digest=("$@")
want=$(ANNULUS_CPU_THREADS=1 ANNULUS_CPU_MODE=eager ANNULUS_CPU_CHECK=0 "${digest[@]}")
[[ -n $want ]] || { echo "no digests"; exit 1; }
for setting in "THREADS=2 MODE=eager CHECK=0" "THREADS=3 MODE=threads CHECK=1" \
  "THREADS=2 MODE=shuffled:5 CHECK=1"; do
  got=$(env $(printf 'ANNULUS_CPU_%s ' $setting) "${digest[@]}")
  diff <(echo "$want") <(echo "$got") || { echo "other bits with $setting"; exit 1; }
done
