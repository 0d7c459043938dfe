#!/usr/bin/env bash
# Prints the Debian packages that files need, one a line: the owners of the shared libraries that they load, and of the
# files themselves below /usr/bin. A library that is missing, or that no package owns, is an error. Called by
# k8s/image/Dockerfile, so that an image holds what the program and mpirun need, no more.
# usage: libraries.sh FILE…
set -euo pipefail

owner() {
  local real path
  real=$(readlink -f "$1")
  for path in "$1" "$real" "${real#/usr}"; do # dpkg knows some by the path from before /usr was merged
    dpkg-query -S "$path" 2>/dev/null | sed 's/:.*//' && return
  done
  echo "libraries.sh: no package owns $1" >&2
  return 1
}

loaded=$(ldd "$@")
if grep 'not found' <<<"$loaded" >&2; then
  echo "libraries.sh: not found: install what is named above" >&2
  exit 1
fi
{
  awk '$2 == "=>" { print $3 }' <<<"$loaded"
  printf '%s\n' "$@" | grep '^/usr/bin/' || true
} | sort -u | while read -r library; do owner "$library"; done | sort -u
