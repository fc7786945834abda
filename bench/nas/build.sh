#!/bin/sh
# Builds one kernel, or all of them, into a directory:  bench/nas/build.sh [MPICC [DIRECTORY [KERNEL...]]]
set -eu
mpicc=${1-mpicc}
directory=${2-.}
[ $# -gt 2 ] && shift 2 || set -- is ep cg mg ft lu
source=$(dirname "$0")
for kernel; do
    flags=
    case $kernel in ep) flags=-ffast-math ;; esac
    "$mpicc" -std=gnu11 -O3 -march=native -fno-math-errno -fopenmp-simd -Wall -Wextra $flags -o "$directory/$kernel" "$source/$kernel"*.c "$source"/common/*.c -lm
done
