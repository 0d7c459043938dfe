#!/usr/bin/env bash
# Tests of ./dev: a copy of it in an empty project, with recorders in place of every program it would
# call, so that each test states what a person types and which calls follow. Run by ctest.
set -uo pipefail
house=$(cd "$(dirname "$0")/../.." && pwd)
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failures=0

# A recorder notes its name and arguments in $calls, then runs the given body.
recorder() {
  printf '#!/bin/bash\necho "%s${*:+ $*}" >>"%s"\n%s\n' "$1" "$box/calls" "${2:-}" >"$box/bin/$1"
  chmod +x "$box/bin/$1"
}

# A project that is set up, built and has nothing to do; each test then changes one thing.
fresh_project() {
  rm -rf "${box:?}"/*
  mkdir -p "$box/project/build/cpu/bin" "$box/project/bench" "$box/bin" "$box/elsewhere"
  echo "annulus_bench(train" >"$box/project/bench/CMakeLists.txt"
  cp "$house/dev" "$house/debian-packages" "$house/CMakePresets.json" "$box/project"
  touch "$box/project/build/cpu/build.ninja" "$box/project/build/cpu/configure.log" "$box/calls"
  recorder dpkg-query 'for p in "${@:4}"; do echo "ii $p"; done'
  recorder ninja '[[ " $* " != *" -n "* ]] || echo "ninja: no work to do."'
  recorder cmake
  recorder ctest
  recorder apt-get
  recorder annulus 'echo "data=${ANNULUS_DATA-unset} shared=${ANNULUS_SHARED-unset}"'
  recorder bench_train
  mv "$box/bin/annulus" "$box/bin/bench_train" "$box/project/build/cpu/bin"
}

# Runs ./dev from another folder; leaves its exit code in $code and both outputs in $output.
dev() {
  output=$(cd "$box/elsewhere" && env -u CI -u ANNULUS_DATA -u ANNULUS_SHARED ANNULUS_PRESET=cpu "${settings[@]}" \
    PATH="$box/bin:$PATH" "$box/project/dev" "$@" 2>&1 </dev/null)
  code=$?
}
settings=(A=b)

expect() {
  local what=$1
  shift
  "$@" && return
  echo "FAILED: $what"
  echo "  exit code $code, output: $output"
  echo "  calls: $(paste -sd';' "$box/calls")"
  failures=$((failures + 1))
}
called() { grep -qxF -- "$1" "$box/calls"; }
never_called() { ! grep -qE "^$1( |\$)" "$box/calls"; }
says() { [[ $output == *"$1"* ]]; }

fresh_project
dev
expect "without a command, help" says 'usage: ./dev COMMAND'
expect "help succeeds" test $code = 0
dev frobnicate
expect "an unknown command is a usage error" test $code = 2
expect "it is named" says "no command 'frobnicate'"
dev test msan
expect "an unknown preset is a usage error" test $code = 2
expect "it is named" says "no preset 'msan'"

fresh_project
settings=(ANNULUS_OUT=first)
dev train
expect "the first training has defaults" \
  called 'annulus train --model seed-cnn --epochs 1 --out first'
expect "it ends with what to do next" says "$box/project/dev run eval --weights first"
settings=(A=b)
dev run
expect "with nothing to set up only the program speaks" test "$output" = 'data=unset shared=unset'
expect "nothing is installed" never_called apt-get
expect "nothing is configured" never_called cmake
dev train --model mlp
expect "options replace the defaults" called 'annulus train --model mlp'
dev run eval --help
expect "run passes everything on" called 'annulus eval --help'

fresh_project
mkdir -p "$box/project/cifar-10-batches-bin" "$box/shared/data/cifar-10-batches-bin"
touch "$box/shared/data/cifar-10-batches-bin/test_batch.bin"
dev run
expect "shared data is found" says "data=$box/shared/data/cifar-10-batches-bin shared=$box/shared"
touch "$box/project/cifar-10-batches-bin/test_batch.bin"
dev run
expect "a folder in the checkout wins" says "data=$box/project/cifar-10-batches-bin"
settings=(ANNULUS_DATA=/mine ANNULUS_SHARED=)
dev run
expect "what is set is left alone" test "$output" = 'data=/mine shared='
settings=(A=b)

fresh_project
dev test
expect "test runs the plan of its preset" called "ctest --preset cpu -j $(nproc)"
dev bench
expect "without a name, bench lists them" says 'benchmarks: train allreduce ddp gpu_check peers'
dev bench train --seconds 1
expect "a bench gets its options" called 'bench_train --seconds 1'

fresh_project
recorder ninja
dev test --all debug tsan
expect "a preset is configured" called 'cmake --preset cpu-debug --fresh'
expect "built" called "ninja -C $box/project/build/cpu-tsan"
expect "--all runs every test" called "ctest --preset cpu-tsan-all -j $(nproc)"
expect "other presets are left alone" never_called 'ctest --preset cpu'
recorder ctest 'exit 8'
dev test asan tsan
expect "ctest's exit code is handed on" test $code = 8
expect "the first failure ends it" never_called 'ctest --preset cpu-tsan -j'

fresh_project
recorder dpkg-query 'for p in "${@:4}"; do [[ $p == clang ]] || echo "ii $p"; done'
recorder id 'echo 0'
dev test cpu
expect "packages of other presets are left alone" never_called apt-get
dev test fuzz
expect "the fuzz preset installs its own" \
  called 'apt-get install -y -q --no-install-recommends clang'
expect "and runs its plan" called "ctest --preset cpu-fuzz -j $(nproc)"

fresh_project
recorder nvcc
mkdir -p "$box/toolkit/bin" && mv "$box/bin/nvcc" "$box/toolkit/bin"
ln -s "$box/toolkit/bin/nvcc" "$box/bin/nvcc"
settings=(ANNULUS_PRESET=cuda)
mkdir -p "$box/project/build/cuda/bin"
cp "$box/project/build/cpu/bin/annulus" "$box/project/build/cuda/bin"
dev run
expect "the preset that is asked for is configured with the toolkit that is here" \
  called "cmake --preset cuda -DCMAKE_CUDA_COMPILER=$box/toolkit/bin/nvcc --fresh"
expect "built" called "ninja -C $box/project/build/cuda -n annulus"
settings=(A=b)

fresh_project
rm "$box/project/build/cpu/build.ninja"
recorder cmake 'echo "no compiler"; exit 1'
dev build
expect "a failed configuration fails" test $code = 2
expect "it shows cmake's words" says 'no compiler'
settings=(CI=true)
dev build
expect "in CI warnings are errors" called 'cmake --preset cpu -DANNULUS_WERROR=ON --fresh'
settings=(A=b)

fresh_project
recorder dpkg-query 'for p in "${@:4}"; do [[ $p == openssh-server ]] || echo "ii $p"; done'
dev packages lint image
expect "packages of the sections that are named" \
  called 'apt-get install -y -q --no-install-recommends openssh-server'
dev packages images
expect "a section that is not there is a usage error" test $code = 2
expect "it is named" says "no section 'images'"

fresh_project
recorder dpkg-query 'for p in "${@:4}"; do [[ $p == cmake ]] || echo "ii $p"; done'
recorder id 'echo 0'
dev build
expect "only what is missing is installed" \
  called 'apt-get install -y -q --no-install-recommends cmake'
expect "and said" says 'installing Debian packages to build Annulus: cmake'
expect "the index is not refreshed without need" never_called 'apt-get update'
recorder apt-get 'echo "E: no network"; exit 100'
dev build
expect "a failed installation fails" test $code = 2
expect "after refreshing the index" called 'apt-get update -q'
expect "with apt's words" says 'E: no network'
recorder id 'echo 1000'
recorder sudo
dev build
expect "without being root, through sudo" called \
  'sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends cmake'
rm "$box/bin/sudo"
ln -s "$(command -v bash)" "$(command -v awk)" "$(command -v dirname)" "$(command -v env)" \
  "$(command -v sed)" "$(command -v grep)" "$box/bin"
output=$(PATH=$box/bin "$box/project/dev" build 2>&1)
code=$?
expect "without root or sudo it fails" test $code = 2
expect "with the line to type" says 'as root run: apt-get install --no-install-recommends cmake'

expect "no control characters in a pipe" test -z "$(tr -d '[:print:]\n' <<<"$output")"
expect "packages are listed once" test -z "$(grep -o '^[a-z][^ ]*' "$house/debian-packages" | sort | uniq -d)"

((failures == 0)) && echo "dev_test: all passed"
exit $((failures > 0))
