/* stencil [POINTS [STEPS]]: Jacobi's iteration on POINTS times POINTS points in bands of rows: neighbours
 * read a row of each other in every step. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    size_t n = argc > 1 ? (size_t)atol(argv[1]) : 2048;
    long steps = argc > 2 ? atol(argv[2]) : 100;
    double *grids[2];
    for (int i = 0; i < 2; i++)
        grids[i] = malloc(n * n * sizeof(double));
#pragma omp parallel for schedule(static)
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++)
            grids[0][y * n + x] = grids[1][y * n + x] = y == 0 ? 100 : 0;
    double begin = omp_get_wtime();
    for (long step = 0; step < steps; step++) {
        const double *from = grids[step % 2];
        double *to = grids[1 - step % 2];
#pragma omp parallel for schedule(static)
        for (size_t y = 1; y < n - 1; y++)
            for (size_t x = 1; x < n - 1; x++)
                to[y * n + x] = 0.25 * (from[(y - 1) * n + x] + from[(y + 1) * n + x] + from[y * n + x - 1]
                                        + from[y * n + x + 1]);
    }
    double took = omp_get_wtime() - begin, sum = 0;
    for (size_t i = 0; i < n * n; i++)
        sum += grids[steps % 2][i];
    printf("%.9e %.6f s\n", sum, took);
    return 0;
}
