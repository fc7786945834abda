# For scripts that measure MPI programs: sourced, with the repository's root as the working directory.

# compile MPI SOURCE PROGRAM: with that MPI's compiler, or the one that MPICC names.
compile() {
    local compiler=target/peers/$1/bin/mpicc
    case $1 in
    # The distribution's MPI is not among the unpacked ones.
    openmpi-4.1*) compiler=mpicc.openmpi ;;
    # Intel's runtime has no compiler; it runs programs of MPICH.
    impi* | intel*) compiler=target/peers/mpich-5.0/bin/mpicc ;;
    esac
    "${MPICC:-$compiler}" -O2 -o "$3" "$2"
}

# seconds_since NANOSECONDS: what has passed since then, to the millisecond.
seconds_since() {
    local took=$((($(date +%s%N) - $1) / 1000000))
    echo "$((took / 1000)).$(printf %03d $((took % 1000)))"
}

# medians DIGITS: of lines "KEY KEY VALUE", a line for each pair of keys: median (least to greatest).
medians() {
    sort -k1,1n -k1,2 -k3,3n | awk -v digits="$1" '
    { key = $1 " " $2; if (!count[key]++) order[++keys] = key; value[key, count[key]] = $3 }
    END { form = sprintf("%%-30s %%.%df (%%.%df to %%.%df)\n", digits, digits, digits)
        for (k = 1; k <= keys; k++) { key = order[k]; n = count[key]
            median = (value[key, int((n + 1) / 2)] + value[key, int(n / 2) + 1]) / 2
            printf form, key, median, value[key, 1], value[key, n] } }'
}
