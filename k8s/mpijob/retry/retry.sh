#!/bin/sh
# Runs a command, and again while its exit code says that another try may succeed: from 128 up (docs/exit-codes.md),
# and 1, with which mpirun ends when a worker's pod is lost. Ten times at most. Each try is a generation of the job of
# its own. A signal is handed on, and ends it. The first process of an MPIJob's launcher.
# usage: retry.sh COMMAND…
child='' stopped=''
hand_on() {
  stopped=1
  [ -z "$child" ] || kill -TERM "$child"
}
trap hand_on TERM INT

ANNULUS_JOB_GENERATION=0
export ANNULUS_JOB_GENERATION
while :; do
  "$@" &
  child=$!
  wait "$child"
  code=$?
  while kill -0 "$child" 2>/dev/null; do  # wait was cut short by a signal
    wait "$child"
    code=$?
  done
  [ -z "$stopped" ] || exit 143
  [ "$code" -eq 1 ] || [ "$code" -ge 128 ] || exit "$code"
  [ "$ANNULUS_JOB_GENERATION" -lt 10 ] || exit "$code"
  ANNULUS_JOB_GENERATION=$((ANNULUS_JOB_GENERATION + 1))
  echo "retry.sh: ended with $code, starts again ($ANNULUS_JOB_GENERATION of 10)" >&2
  sleep 10 &
  wait $!
  [ -z "$stopped" ] || exit 143
done
