/* transpose [N] [STEPS]: a square of N numbers a side is transposed and changed, STEPS times: in every step
 * each thread reads what all others have written, as in a Fourier transform over several hosts. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 1024, steps = argc > 2 ? atol(argv[2]) : 20;
    double *from = malloc(n * n * sizeof *from), *to = malloc(n * n * sizeof *to);
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            from[i * n + j] = (double)((i * 7 + j * 3) % 11), to[i * n + j] = 0;
    double begin = omp_get_wtime();
    for (long step = 0; step < steps; step++) {
#pragma omp parallel for
        for (long block = 0; block < n; block += 8)
            for (long j = 0; j < n; j++)
                for (long i = block; i < block + 8; i++)
                    to[i * n + j] = from[j * n + i] + (double)(i % 3);
        double *swap = from;
        from = to;
        to = swap;
    }
    double took = omp_get_wtime() - begin, sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < n * n; i++)
        sum += from[i] * (double)(i % 5);
    printf("%.9e %.6f s\n", sum, took);
    return 0;
}
