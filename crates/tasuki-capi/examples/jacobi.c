/*
 * jacobi [POINTS [STEPS]]: heat in a square plate of POINTS times POINTS points, whose upper rim is hot, by
 * Jacobi's iteration, in memory that all processes share. Each process computes a band of rows and reads one
 * row of each neighbour.
 *
 *     cc -O2 jacobi.c -ltasuki -o jacobi
 *     tasuki run --resident -n 4 ./jacobi 2000 100
 */
#include <stdio.h>
#include <stdlib.h>
#include <tasuki_shared.h>
#include <time.h>

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check(int code) {
    if (code < 0) {
        fprintf(stderr, "jacobi: %s: %s\n", tasuki_strerror(code), tasuki_last_error());
        exit(1);
    }
}

int main(int argc, char **argv) {
    long points = argc > 1 ? atol(argv[1]) : 1000, steps = argc > 2 ? atol(argv[2]) : 100;
    if (points < 3 || points > 100000 || steps < 1) {
        fprintf(stderr, "usage: jacobi [POINTS, 3 to 100000 [STEPS, 1 or more]]\n");
        return 2;
    }
    tasuki_shared *shared;
    check(tasuki_shared_open(0, &shared));
    int rank = tasuki_shared_rank(shared), size = tasuki_shared_size(shared);
    size_t n = (size_t)points, bytes = n * n * sizeof(double);
    void *memory[2];
    for (int i = 0; i < 2; i++)
        check(tasuki_shared_allocate(shared, bytes, 0, &memory[i]));
    size_t first = n * (size_t)rank / (size_t)size, end = n * (size_t)(rank + 1) / (size_t)size;
    for (int grid = 0; first == 0 && grid < 2; grid++)
        for (size_t x = 0; x < n; x++)
            ((double *)memory[grid])[x] = 100;
    check(tasuki_shared_barrier(shared));
    double begin = seconds();
    for (long step = 0; step < steps; step++) {
        check(tasuki_shared_phase(shared, 0));
        const double *from = memory[step % 2];
        double *to = memory[1 - step % 2];
        for (size_t y = first ? first : 1; y < end && y < n - 1; y++)
            for (size_t x = 1; x < n - 1; x++)
                to[y * n + x] = 0.25 * (from[(y - 1) * n + x] + from[(y + 1) * n + x] + from[y * n + x - 1]
                                        + from[y * n + x + 1]);
        check(tasuki_shared_barrier(shared));
    }
    double took = seconds() - begin;
    if (rank == 0) {
        const double *last = memory[steps % 2];
        double sum = 0;
        for (size_t i = 0; i < n * n; i++)
            sum += last[i];
        printf("%ld x %ld points, %ld steps on %d processes: heat %.9e, %.3f s\n", points, points, steps,
               size, sum, took);
    }
    check(tasuki_shared_close(shared));
    return 0;
}
