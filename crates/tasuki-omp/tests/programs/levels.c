/* levels THREADS: regions inside of regions, how many threads they have, and what threads are told of that;
 * memory by whole pages. Prints "good THREADS". */
#define _GNU_SOURCE
#include "check.h"
#include <malloc.h>
#include <omp.h>

/* 3.2.20, 3.2.14: a region of one thread inside of another one hides nothing of that. */
static void nested(int threads) {
    int wrong = 0, is_active = threads > 1;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
#pragma omp parallel reduction(+ : wrong)
        {
            wrong += omp_get_ancestor_thread_num(1) != me || omp_get_ancestor_thread_num(2) != 0;
            wrong += omp_get_ancestor_thread_num(0) != 0 || omp_get_ancestor_thread_num(3) != -1;
            wrong += omp_get_team_size(0) != 1 || omp_get_team_size(1) != threads;
            wrong += omp_get_team_size(2) != 1 || omp_get_team_size(3) != -1;
            wrong += omp_get_level() != 2 || omp_get_num_threads() != 1;
            wrong += !omp_in_parallel() != !is_active || omp_get_active_level() != is_active;
        }
        wrong += omp_get_ancestor_thread_num(1) != me || omp_get_team_size(1) != threads;
    }
#pragma omp parallel if (0) reduction(+ : wrong)
    {
        wrong += omp_in_parallel() || omp_get_active_level() != 0 || omp_get_level() != 1;
        wrong += omp_get_ancestor_thread_num(1) != 0 || omp_get_team_size(1) != 1;
    }
    CHECK(wrong == 0 && !omp_in_parallel() && omp_get_team_size(1) == -1);
}

/* The threads of the next region. */
static int size(void) {
    int all = 0;
#pragma omp parallel
#pragma omp single
    all = omp_get_num_threads();
    return all;
}

/* 2.4.4: each thread of a region begins with the number of the one that came to it, and changes its own. */
static void numbers(int threads) {
    int few = threads > 1 ? threads - 1 : 1, wrong = 0;
    omp_set_num_threads(few);
#pragma omp parallel reduction(+ : wrong)
    {
        wrong += omp_get_num_threads() != few || omp_get_max_threads() != few;
        omp_set_num_threads(1);
        wrong += omp_get_max_threads() != 1;
    }
    CHECK(wrong == 0 && omp_get_max_threads() == few && size() == few);
#pragma omp parallel num_threads(1)
    omp_set_num_threads(1);
    CHECK(omp_get_max_threads() == few && size() == few);
#pragma omp task if (0)
    omp_set_num_threads(1);
    CHECK(omp_get_max_threads() == few);
    omp_set_num_threads(threads);
    CHECK(size() == threads);
}

/* By a function: gcc refuses the call itself in teams. */
static int limit_here(void) {
    return omp_get_thread_limit();
}

/* 2.7: a program may have arrays for so many threads. */
static void limited(int threads) {
    int all = 0, limit = 0;
#pragma omp teams num_teams(1) thread_limit(2)
    {
        all = size();
        limit = limit_here();
    }
    CHECK(all >= 1 && all <= 2 && limit <= 2 && size() == threads);
}

/* Chunks whose sum does not fit in a number. */
static void chunks(void) {
    int count = 0;
#pragma omp parallel
    for (int round = 0; round < 20; round++) {
#pragma omp for schedule(dynamic, 1L << 62)
        for (long i = 0; i < 10; i++) {
#pragma omp atomic
            count++;
        }
    }
    CHECK(count == 200);
}

static void pages(void) {
    enum { MANY = 5000 };
    long *whole = valloc(MANY * sizeof(long)), *one = pvalloc(1), sum = 0;
    CHECK(whole != NULL && one != NULL && (size_t)whole % 4096 == 0 && (size_t)one % 4096 == 0);
#pragma omp parallel for
    for (long i = 0; i < MANY; i++)
        whole[i] = i;
    for (long i = 0; i < MANY; i++)
        sum += whole[i];
#pragma omp parallel
#pragma omp single
    one[4096 / sizeof(long) - 1] = sum;
    CHECK(sum == MANY * (MANY - 1L) / 2 && one[4096 / sizeof(long) - 1] == sum);
    free(whole);
    free(one);
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads();
    CHECK(argc == 2 && atoi(argv[1]) == threads);
    nested(threads);
    numbers(threads);
    limited(threads);
    chunks();
    pages();
    printf("good %s\n", argv[1]);
    return 0;
}
