#!/usr/bin/env bash
# k8s/mpijob/retry/retry.sh, the first process of an MPIJob's launcher: which exit codes it tries again, how often, and
# that a signal reaches the command and ends both. usage: retry_test.sh
set -uo pipefail
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../k8s/mpijob/retry" && pwd)/retry.sh
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failures=0

fail() { echo "FAILED: $*" && failures=$((failures + 1)); }

# The script pauses between tries; here it does not.
mkdir "$box/bin" && printf '#!/bin/sh\n' >"$box/bin/sleep" && chmod +x "$box/bin/sleep"

# ends CODE TRIES COMMANDS_CODE…: the command ends with these codes in turn, and with the last one for ever.
ends() {
  local code=$1 tries=$2
  printf '%s\n' "${@:3}" >"$box/codes"
  : >"$box/generations"
  # shellcheck disable=SC2016 # the command's own variables
  PATH=$box/bin:$PATH sh "$script" sh -c '
    echo "$ANNULUS_JOB_GENERATION" >>"$0/generations"
    try=$(wc -l <"$0/generations")
    code=$(sed -n "${try}p" "$0/codes")
    exit "${code:-$(tail -n 1 "$0/codes")}"' "$box" 2>"$box/err"
  local ended=$?
  [[ $ended == "$code" ]] || fail "codes ${*:3}: ends with $ended, not $code"
  [[ $(<"$box/generations") == "$(seq 0 $((tries - 1)))" ]] ||
    fail "codes ${*:3}: generations $(paste -sd' ' "$box/generations"), not $tries in turn"
}

ends 0 1 0
ends 3 1 3
ends 127 1 127
ends 0 3 201 137 0
ends 2 2 201 2
ends 0 2 1 0       # mpirun's, when a worker's pod is lost
ends 204 11 204

# A signal: the command saves, and is waited for.
: >"$box/err"
# shellcheck disable=SC2016 # the command's own variables
sh "$script" bash -c '
  trap "echo saved >$0/saved; exit 143" TERM
  touch "$0/begun"
  while [[ -d $0 ]]; do sleep 0.05; done' "$box" &
launcher=$!
until [[ -e $box/begun ]]; do sleep 0.05; done
kill -TERM "$launcher"
wait "$launcher"
ended=$?
[[ $ended == 143 ]] || fail "SIGTERM: ended with $ended"
[[ -e $box/saved ]] || fail "SIGTERM: did not reach the command, or it was not waited for"
exit $((failures > 0))
