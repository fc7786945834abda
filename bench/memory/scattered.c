/* scattered [ROUNDS]: every thread adds to counters that lie beside those of the others, and takes
 * iterations one by one: what pages across hosts are worst at. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long counters[64];

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 20000;
    double begin = omp_get_wtime();
#pragma omp parallel for schedule(dynamic, 1)
    for (long i = 0; i < rounds; i++)
        counters[omp_get_thread_num()] += i % 3;
    double took = omp_get_wtime() - begin;
    long sum = 0;
    for (int i = 0; i < 64; i++)
        sum += counters[i];
    printf("%ld %.6f s\n", sum, took);
    return 0;
}
