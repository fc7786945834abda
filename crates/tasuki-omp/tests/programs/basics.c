/* Constructs of OpenMP, each with a result that is known: the numbers of the sections are those of the
 * OpenMP 4.5 specification. */
#include "check.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 5000 };

static int data[MANY], apart[MANY], zeros[MANY];
static int initialised = 42;
static int mine;
#pragma omp threadprivate(mine)

/* 2.5: a team has as many threads as there are, each with a number of its own. */
static void teams(int threads) {
    int seen[256] = {0}, sum = 0;
#pragma omp parallel
    {
        CHECK(omp_get_num_threads() == threads && omp_in_parallel() == (threads > 1));
        seen[omp_get_thread_num()]++;
        CHECK(initialised == 42);
#pragma omp atomic
        sum += omp_get_thread_num();
    }
    for (int i = 0; i < threads; i++)
        CHECK(seen[i] == 1);
    CHECK(sum == threads * (threads - 1) / 2 && !omp_in_parallel());
#pragma omp parallel num_threads(2)
    CHECK(omp_get_num_threads() == (threads < 2 ? threads : 2));
#pragma omp parallel if (0)
    CHECK(omp_get_num_threads() == 1);
    omp_set_num_threads(1);
#pragma omp parallel
    CHECK(omp_get_num_threads() == 1);
    omp_set_num_threads(threads);
#pragma omp parallel
    {
#pragma omp parallel
        CHECK(omp_get_num_threads() == 1 && omp_get_level() == 2);
    }
}

/* 2.7.1: every iteration is done once, whatever the schedule. */
static void loops(void) {
    memset(data, 0, sizeof(data));
    memset(apart, 0, sizeof(apart));
#pragma omp parallel for schedule(static)
    for (int i = 0; i < MANY; i++)
        data[i]++;
#pragma omp parallel for schedule(static, 7)
    for (int i = 0; i < MANY; i++)
        data[i]++;
#pragma omp parallel for schedule(dynamic, 100)
    for (int i = 0; i < MANY; i++)
        data[i]++;
#pragma omp parallel for schedule(guided)
    for (int i = MANY - 1; i >= 0; i--)
        data[i]++;
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < MANY; i += 2)
        data[i]++;
#pragma omp parallel
    {
        /* Nobody waits at its end, so that the loop that follows must not touch the same data. */
#pragma omp for schedule(dynamic, 64) nowait
        for (unsigned long long i = 0; i < MANY; i++)
            apart[i]++;
#pragma omp for schedule(guided, 3)
        for (long i = 0; i < MANY; i++)
            data[i] += 10;
#pragma omp for schedule(static, 11) collapse(2)
        for (int i = 0; i < MANY / 100; i++)
            for (int j = 0; j < 100; j++)
                data[i * 100 + j] += 100;
    }
    for (int i = 0; i < MANY; i++)
        CHECK(data[i] == 114 + (i % 2 == 0) && apart[i] == 1);
}

/* 3.2.12: a region has the schedule of the thread that came to it; what is set inside stays there. */
static void schedules(int threads) {
    static int hits[20];
    int right = 0, once = 0, chunk;
    omp_sched_t kind;
    omp_set_schedule(omp_sched_dynamic, 1);
#pragma omp parallel private(kind, chunk) reduction(+ : right, once)
    {
        /* More loops than those that threads may run ahead by. */
        for (int time = 0; time < 70; time++) {
#pragma omp for schedule(runtime)
            for (int i = 0; i < 20; i++)
                hits[i]++;
#pragma omp single
            once++;
        }
#pragma omp parallel
        omp_set_schedule(omp_sched_static, 5);
        omp_get_schedule(&kind, &chunk);
        right += kind == omp_sched_dynamic && chunk == 1;
        omp_set_schedule(omp_sched_guided, 3);
    }
    omp_get_schedule(&kind, &chunk);
    CHECK(kind == omp_sched_dynamic && chunk == 1 && right == threads && once == 70);
    for (int i = 0; i < 20; i++)
        CHECK(hits[i] == 70);
    omp_set_schedule(omp_sched_static, 0);
}

/* 2.15: reductions, first and last private values. */
static void values(void) {
    long sum = 5, last = -1, begin = 3;
    double product = 1;
    int all = 1, most = 0;
#pragma omp parallel for reduction(+ : sum) reduction(* : product) reduction(&& : all) reduction(max : most) \
    firstprivate(begin) lastprivate(last)
    for (int i = 1; i <= 1000; i++) {
        sum += i + begin - 3;
        product *= i % 100 == 0 ? 2 : 1;
        all = all && i > 0;
        most = i % 777 > most ? i % 777 : most;
        last = i;
    }
    CHECK(sum == 500505 && product == 1024 && all && most == 776 && last == 1000);
}

/* 2.7.2 and 2.7.3: sections once each, a single once, its value for all. */
static void once(int threads) {
    int done[5] = {0}, singles = 0, copies = 0;
#pragma omp parallel
    {
        int value = 0;
#pragma omp sections
        {
#pragma omp section
            done[0]++;
#pragma omp section
            done[1]++;
#pragma omp section
            done[2]++;
        }
#pragma omp single nowait
        {
#pragma omp atomic
            singles++;
        }
#pragma omp single copyprivate(value)
        value = 77;
#pragma omp atomic
        copies += value;
#pragma omp master
        done[3]++;
    }
    CHECK(done[0] == 1 && done[1] == 1 && done[2] == 1 && done[3] == 1 && singles == 1);
    CHECK(copies == 77 * threads);
}

/* 2.13: critical, barrier, ordered, locks. */
static void exclusion(int threads) {
    int count = 0, named = 0, order = 0, right = 1, locked = 0, nested = 0, tried = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel
    {
        for (int i = 0; i < 20; i++) {
#pragma omp critical
            count++;
#pragma omp critical(other)
            named++;
            omp_set_lock(&lock);
            locked++;
            omp_unset_lock(&lock);
        }
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        while (!omp_test_lock(&lock))
            ;
        tried++;
        omp_unset_lock(&lock);
#pragma omp barrier
        if (count != 20 * threads) {
#pragma omp atomic write
            right = 0;
        }
#pragma omp for ordered schedule(dynamic, 3)
        for (int i = 0; i < 60; i++) {
#pragma omp ordered
            {
                if (order != i)
                    right = 0;
                order++;
            }
        }
#pragma omp for ordered schedule(static)
        for (int i = 0; i < 40; i++) {
#pragma omp ordered
            {
                if (order != 60 + i)
                    right = 0;
                order++;
            }
        }
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    CHECK(count == 20 * threads && named == count && locked == count && nested == threads);
    CHECK(right && order == 100 && tried == threads);
}

/* 2.9: tasks, with what they are given. */
static long fibonacci(int n) {
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) firstprivate(n)
    a = fibonacci(n - 1);
#pragma omp task shared(b) firstprivate(n)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks(void) {
    long result = 0, sum = 0;
#pragma omp parallel
    {
#pragma omp single
        result = fibonacci(15);
#pragma omp single
#pragma omp taskloop
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            sum += i;
        }
    }
    CHECK(result == 610 && sum == 4950);
}

/* Memory of the heap, from any thread to any other. */
static void heap(int threads) {
    int **parts = malloc((size_t)threads * sizeof(int *));
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        parts[me] = calloc(3000, sizeof(int));
        for (int i = 0; i < 3000; i++)
            parts[me][i] = me * 3000 + i;
    }
#pragma omp parallel
    {
        int next = (omp_get_thread_num() + 1) % threads;
        for (int i = 0; i < 3000; i++)
            CHECK(parts[next][i] == next * 3000 + i);
#pragma omp barrier
        parts[next] = realloc(parts[next], 10000 * sizeof(int));
        CHECK(parts[next][2999] == next * 3000 + 2999);
    }
    for (int i = 0; i < threads; i++)
        free(parts[i]);
    free(parts);
}

/* 2.15.2: each thread keeps its own. */
static void own(int threads) {
#pragma omp parallel
    mine = omp_get_thread_num() + 1;
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += mine;
    CHECK(sum == threads * (threads + 1) / 2);
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads();
    CHECK(argc == 2 && atoi(argv[1]) == threads && omp_get_num_procs() >= 1);
    for (int i = 0; i < MANY; i++)
        CHECK(zeros[i] == 0);
    teams(threads);
    loops();
    schedules(threads);
    values();
    once(threads);
    exclusion(threads);
    tasks();
    heap(threads);
    own(threads);
    printf("good %s\n", argv[1]);
    return 0;
}
