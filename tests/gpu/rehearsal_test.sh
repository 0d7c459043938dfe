#!/usr/bin/env bash
# bench/gpu_check rehearsed: what is packed fits its limit, every check ends, none fails, in time for
# the GPU machine's eight minutes; and a check that fails is a row and an exit code.
# usage: rehearsal_test.sh PROJECT BUILD
set -uo pipefail
project=$1 build=$2
unset LD_LIBRARY_PATH  # as a user's shell has it, whatever the other tests need
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failures=0

fail() { echo "FAILED: $*" && failures=$((failures + 1)); }

"$project/bench/gpu_check/gpu_check" --build "$build" --prepare "$box/packed" || fail "--prepare"
mib=$(du -sm --apparent-size "$box/packed" | cut -f1)
[[ $mib -le 60 ]] || fail "$mib MiB are packed"

"$box/packed/gpu_check" --rehearse --out "$box/result" || fail "the rehearsal ended with $?"
python3 - "$box/result/gpu_check.json" <<'PY' || fail "gpu_check.json"
import json, sys
found = json.load(open(sys.argv[1]))
rows = found["rows"]
print(f"{len(rows)} rows, {found['seconds']} s")
assert found["seconds"] < 480 and found["rehearsal"] is True
assert {row["check"] for row in rows} == {"card", "tests", "bits", "step", "kernels", "learning", "sanitizer"}
assert not [row for row in rows if row["result"] == "failed"]
PY

mv "$box/packed/bin/step_test" "$box/packed/bin/step_test.away"
printf '#!/bin/sh\nexit 1\n' >"$box/packed/bin/step_test" && chmod +x "$box/packed/bin/step_test"
"$box/packed/gpu_check" --rehearse --only tests --out "$box/broken" >/dev/null 2>&1
[[ $? == 1 ]] || fail "a test that fails is no exit code 1"
grep -q 'step_test.*failed' "$box/broken/gpu_check.md" || fail "a test that fails is no row: $(cat "$box/broken/gpu_check.md")"

[[ -e /dev/nvidia0 ]] || {
  "$box/packed/gpu_check" --out "$box/none" 2>/dev/null
  [[ $? == 4 ]] || fail "without a GPU it is no exit code 4"
}
exit $((failures > 0))
