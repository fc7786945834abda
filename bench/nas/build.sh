#!/bin/sh
# Builds kernels (all of them if none is named) with an MPI's compiler wrapper into a directory:
#
#   bench/nas/build.sh [MPICC [DIRECTORY [KERNEL...]]]
#
# -march=native: for the machine that builds. Programs for several kinds of machines: CFLAGS=-march=x86-64-v3.
set -eu
mpicc=${1-mpicc}
directory=${2-.}
if [ $# -gt 2 ]; then shift 2; else set -- is ep cg mg ft lu himeno; fi
mkdir -p "$directory"
source=$(dirname "$0")
wide=-mprefer-vector-width=512
"$mpicc" $wide -E -x c /dev/null >/dev/null 2>&1 || wide=
for kernel; do
    # EP's logarithms run in vector registers only if the compiler may use the vector versions of libm, which
    # are good to 4 units in the last place instead of 1.
    case $kernel in
    ep) precision=-ffast-math ;;
    # Sums of a row's products in vector registers.
    cg) precision='-fno-math-errno -fassociative-math -fno-signed-zeros -fno-trapping-math' ;;
    *) precision=-fno-math-errno ;;
    esac
    # Compilers think little of the widest registers of x86, as they once slowed the clock. Here EP gains
    # 38 %, MG 10 % from them; CG, whose rows are short, loses 40 %.
    case $kernel in
    ep | mg | himeno) width=$wide ;;
    *) width= ;;
    esac
    # shellcheck disable=SC2086 # CFLAGS are several words
    "$mpicc" -std=gnu11 -O3 -fopenmp-simd $precision $width -Wall -Wextra ${CFLAGS--march=native} \
        -o "$directory/$kernel" "$source/$kernel"*.c "$source"/common/*.c -lm
done
