/*
 * shared_costs [ROUNDS]: what shared memory costs: medians of ROUNDS uses each, seen by rank 0. Needs two
 * processes or more, each on a host of its own if the wire is to be in the figures.
 *
 *     cc -O2 shared_costs.c -ltasuki -o shared_costs
 *     tasuki run --resident -n 2 ./shared_costs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tasuki_shared.h>
#include <time.h>

enum { MOST = 100000, RUN = 256 };

static double took[MOST];

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say(const tasuki_shared *shared, const char *what, int rounds) {
    if (tasuki_shared_rank(shared) != 0)
        return;
    qsort(took, (size_t)rounds, sizeof(double), ascending);
    printf("%-44s %10.1f us (90 %% below %.1f)\n", what, took[rounds / 2], took[rounds * 9 / 10]);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    tasuki_shared *shared;
    if (rounds < 1 || rounds > MOST) {
        fprintf(stderr, "usage: shared_costs [ROUNDS, 1 to %d]\n", MOST);
        return 2;
    }
    if (tasuki_shared_open(0, &shared) < 0) {
        fprintf(stderr, "shared_costs: %s\n", tasuki_last_error());
        return 1;
    }
    int rank = tasuki_shared_rank(shared), last = tasuki_shared_size(shared) - 1;
    size_t pages = (size_t)rounds + RUN;
    void *memory = NULL;
    if (last < 1 || tasuki_shared_allocate(shared, pages * TASUKI_SHARED_PAGE, 0, &memory) < 0) {
        fprintf(stderr, "shared_costs: %s\n", last < 1 ? "two processes are needed" : tasuki_last_error());
        return 1;
    }
    volatile char *page = memory;
    for (int i = 0; i < rounds; i++) {
        double begin = microseconds();
        tasuki_shared_barrier(shared);
        took[i] = microseconds() - begin;
    }
    say(shared, "barrier of all", rounds);
    if (rank == last)
        memset(memory, 1, pages * TASUKI_SHARED_PAGE);
    tasuki_shared_barrier(shared);
    // From the last to the first: pages that follow those that were read are brought early.
    for (int i = rounds - 1; rank == 0 && i >= 0; i--) {
        double begin = microseconds();
        (void)page[(size_t)i * TASUKI_SHARED_PAGE];
        took[i] = microseconds() - begin;
    }
    say(shared, "first read of another's page", rounds);
    for (int i = 0; rank == 0 && i < rounds; i++) {
        double begin = microseconds();
        page[(size_t)i * TASUKI_SHARED_PAGE] = 2;
        took[i] = microseconds() - begin;
    }
    say(shared, "first write of a page that two read", rounds);
    tasuki_shared_barrier(shared);
    double begin = microseconds();
    if (rank == 0) {
        tasuki_shared_fetch(shared, memory, (size_t)(rounds + RUN) * TASUKI_SHARED_PAGE, 0);
        for (size_t i = (size_t)rounds; i < pages; i++)
            (void)page[i * TASUKI_SHARED_PAGE];
        double each = (microseconds() - begin) / RUN;
        printf("%-44s %10.1f us a page, %.1f MB/s\n", "read of pages that were asked for together", each,
               TASUKI_SHARED_PAGE / each);
    }
    tasuki_shared_barrier(shared);
    for (int i = 0; i < rounds; i++) {
        double start = microseconds();
        tasuki_shared_lock(shared, 1);
        tasuki_shared_unlock(shared, 1);
        took[i] = microseconds() - start;
    }
    say(shared, "lock that all take in turn", rounds);
    return tasuki_shared_close(shared) < 0;
}
