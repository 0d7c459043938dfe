#!/usr/bin/env bash
# The README's first ten minutes, done: every command of its console block is run, with the program
# given as $1 in the place of ./dev, and must print what the README shows, line by line, but for the
# numbers. ^C stands for SIGINT, sent once the run trains. Progress bars are not shown there.
set -euo pipefail

program=$1
readme=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset ANNULUS_DATA EPOCHS
export NO_COLOR=1

as_shown() {
  sed -E '/^epoch [0-9]+\/[0-9]+ /d; s/[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?/#/g; s/ +/ /g; /^$/d'
}

console() { awk '/^```console$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$readme"; }

# What the block shows after command number $1.
shown() { console | awk -v n="$1" '/^\$ / { ++count; next } count == n && $0 != "^C"'; }

# $1: the words behind "$ ./dev"; $2: whether ^C follows.
run() {
  local words
  read -ra words <<<"$1"
  [[ ${words[0]} == run ]] && words=("${words[@]:1}")
  if [[ $2 == no ]]; then
    "$program" "${words[@]}" 2>&1
    return
  fi
  "$program" "${words[@]}" 2>&1 &
  local training=$!
  for ((tenths = 0; tenths < 600; ++tenths)); do
    [[ -s runs/first/starts.jsonl ]] && break
    sleep 0.1
  done
  sleep 3
  kill -INT "$training"
  wait "$training" && return 1
  return 0
}

number=0
while IFS= read -r line; do
  number=$((number + 1))
  interrupted=no
  if console | awk -v n="$number" '/^\$ / { ++count } count == n' | grep -qxF '^C'; then interrupted=yes; fi
  echo "$line"
  run "${line#\$ ./dev }" "$interrupted" >output || { cat output && exit 1; }
  diff <(shown "$number" | as_shown) <(as_shown <output) || {
    echo "README.md shows other lines than this command printed"
    exit 1
  }
done < <(console | grep '^\$ ')
((number >= 5)) || { echo "README.md shows $number commands" && exit 1; }
[[ $(head -c 4 plot.svg) == '<svg' || $(head -c 5 plot.svg) == '<?xml' ]]
