#!/bin/sh
# Builds kernels (all of them if none is named) with an MPI's compiler wrapper into a directory:
#
#   bench/nas/build.sh [MPICC [DIRECTORY [KERNEL...]]]
#
# -march=native: for the machine that builds. Programs for several kinds of machines: CFLAGS=-march=x86-64-v3.
set -eu
mpicc=${1-mpicc}
directory=${2-.}
if [ $# -gt 2 ]; then shift 2; else set -- is ep cg mg ft lu; fi
source=$(dirname "$0")
for kernel; do
    # EP's logarithms run in vector registers only if the compiler may use the vector versions of libm, which
    # are good to 4 units in the last place instead of 1.
    case $kernel in
    ep) precision=-ffast-math ;;
    *) precision=-fno-math-errno ;;
    esac
    # shellcheck disable=SC2086 # CFLAGS are several words
    "$mpicc" -std=gnu11 -O3 -fopenmp-simd $precision -Wall -Wextra ${CFLAGS--march=native} \
        -o "$directory/$kernel" "$source/$kernel"*.c "$source"/common/*.c -lm
done
