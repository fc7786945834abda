/* What clang makes of OpenMP beside what basics.c has: regions with many variables, loops of every type with
 * bounds at the ends of their types, tasks with ranges, teams. Results are those of the same loops without
 * OpenMP. */
#include "check.h"
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long hits, sum;
static int ends;

/* Every iteration of a loop, and the last one's value, with every schedule. */
#define PRAGMA(text) _Pragma(#text)
#define EVERY(type, begin, condition, step) \
    do { \
        WITH(type, begin, condition, step, schedule(static)); \
        WITH(type, begin, condition, step, schedule(static, 3)); \
        WITH(type, begin, condition, step, schedule(dynamic)); \
        WITH(type, begin, condition, step, schedule(dynamic, 7)); \
        WITH(type, begin, condition, step, schedule(guided)); \
        WITH(type, begin, condition, step, schedule(runtime)); \
        WITH(type, begin, condition, step, schedule(auto)); \
    } while (0)
#define WITH(type, begin, condition, step, clause) \
    do { \
        long wanted = 0, total = 0; \
        type last = 0, wanted_last = 0; \
        for (type i = begin; condition; step) { \
            wanted++; \
            total += (long)(i % 1000); \
            wanted_last = i; \
        } \
        hits = sum = 0; \
        PRAGMA(omp parallel for clause reduction(+ : hits, sum) lastprivate(last)) \
        for (type i = begin; condition; step) { \
            hits++; \
            sum += (long)(i % 1000); \
            last = i; \
        } \
        CHECK(hits == wanted && sum == total && (!wanted || last == wanted_last)); \
    } while (0)

static void loops(void) {
    EVERY(int, 0, i < 101, i++);
    EVERY(int, -50, i <= 50, i += 3);
    EVERY(int, 40, i > -41, i -= 7);
    EVERY(int, INT_MAX - 5, i < INT_MAX, i++);
    EVERY(int, 3, i < 3, i++);
    EVERY(int, 3, i < 4, i++);
    EVERY(unsigned, 0u, i < 100u, i += 9u);
    EVERY(unsigned, UINT_MAX - 60u, i < UINT_MAX - 1u, i += 2u);
    EVERY(long, LONG_MAX - 90, i < LONG_MAX - 1, i++);
    EVERY(long, LONG_MIN + 90, i > LONG_MIN + 1, i -= 4);
    EVERY(unsigned long, ULONG_MAX - 75, i < ULONG_MAX - 1, i++);
    EVERY(short, 0, i < 77, i++);
}

/* Variables beyond those that registers hold, and a region that changes them all. */
static void many(int threads) {
    int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12;
    double x = 0.5, y = 0.25;
    int *const place = &ends;
#pragma omp parallel firstprivate(x, j, k) shared(a, b, c, d, e, f, g, h, i, l, y)
    {
        int own = (int)(2 * x) + j + k;
#pragma omp critical
        {
            a += own, b++, c++, d++, e++, f++, g++, h++, i++, l++;
            y += x;
            (*place)++;
        }
    }
    CHECK(a == 1 + 22 * threads && b == 2 + threads && c == 3 + threads && d == 4 + threads);
    CHECK(e == 5 + threads && f == 6 + threads && g == 7 + threads && h == 8 + threads);
    CHECK(i == 9 + threads && l == 12 + threads && y == 0.25 + 0.5 * threads && ends == threads);
}

/* Regions that are serial, also inside of others, and what their threads are. */
static void serial(int threads) {
    int inside = 0, numbers = 0;
#pragma omp parallel reduction(+ : inside, numbers)
    {
#pragma omp parallel reduction(+ : inside) if (omp_get_thread_num() > 1000)
        {
            inside += omp_get_num_threads() + omp_get_thread_num();
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 10; i++)
                inside += i;
        }
#pragma omp parallel reduction(+ : inside)
        inside += 100 * omp_get_level();
        numbers += omp_get_thread_num();
    }
    CHECK(inside == threads * (1 + 45 + 200) && numbers == threads * (threads - 1) / 2);
#pragma omp parallel num_threads(2)
    CHECK(omp_get_num_threads() <= 2);
#pragma omp parallel
    CHECK(omp_get_num_threads() == threads);
}

/* Tasks: ranges with a last value, sums of a group, those that are run in place, and those that depend. */
static void tasks(void) {
    int last = 0, order[3] = {0}, next = 0, total = 0;
    long range = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop lastprivate(last) firstprivate(next)
        for (int i = 5; i < 105; i++) {
#pragma omp atomic
            range += i + next;
            last = i;
        }
#pragma omp taskloop grainsize(10)
        for (unsigned i = 20; i > 0; i -= 2) {
#pragma omp atomic
            range -= i;
        }
#pragma omp taskloop
        for (int i = 5; i < 5; i++)
            range = -1;
#pragma omp taskgroup task_reduction(+ : total)
        {
            for (int i = 1; i <= 10; i++) {
#pragma omp task in_reduction(+ : total) firstprivate(i)
                total += i;
            }
        }
#pragma omp task if (0) shared(order, next)
        order[next++] = 1;
#pragma omp task depend(out : order) shared(order, next)
        order[next++] = 2;
#pragma omp task depend(in : order) shared(order, next)
        order[next++] = 3;
#pragma omp taskwait
    }
    CHECK(range == 5450 - 110 && last == 104 && total == 55);
    CHECK(order[0] == 1 && order[1] == 2 && order[2] == 3 && next == 3);
}

/* 2.12.1: tasks that the compiler splits into parts, one inside of another, and in place. */
static void untied(void) {
    long sum = 0, inner = 0;
    int placed = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 100; i++) {
#pragma omp task untied firstprivate(i) shared(sum, inner)
            {
                long mine = i;
#pragma omp task untied firstprivate(i) shared(inner, mine)
                {
                    mine *= 2;
#pragma omp taskyield
#pragma omp atomic
                    inner += i;
                }
#pragma omp taskwait
#pragma omp atomic
                sum += i + mine;
            }
        }
#pragma omp task untied if (0) shared(placed)
        {
            placed++;
#pragma omp taskwait
            placed += 10;
        }
        placed *= 2;
    }
    CHECK(sum == 3 * 4950 && inner == 4950 && placed == 22);
}

/* 2.10: teams, as many as there may be, and what they share out. */
static void teams(void) {
    static int done[300];
    long total = 0;
#pragma omp teams distribute parallel for reduction(+ : total) num_teams(1)
    for (int i = 0; i < 300; i++) {
        done[i]++;
        total += i;
    }
#pragma omp teams num_teams(1)
#pragma omp distribute dist_schedule(static, 4)
    for (int i = 0; i < 300; i++)
        done[i]++;
    for (int i = 0; i < 300; i++)
        CHECK(done[i] == 2);
    CHECK(total == 44850);
}

/* A lock that may be taken again, with nothing of its neighbours changed. */
static void locks(int threads) {
    struct {
        long before;
        omp_nest_lock_t lock;
        long after;
    } kept = {.before = 123, .after = 456};
    int count = 0;
    omp_init_nest_lock(&kept.lock);
#pragma omp parallel
    for (int i = 0; i < 20; i++) {
        omp_set_nest_lock(&kept.lock);
        if (omp_test_nest_lock(&kept.lock) != 2)
            exit(1);
        count++;
        omp_unset_nest_lock(&kept.lock);
        omp_unset_nest_lock(&kept.lock);
    }
    CHECK(count == 20 * threads && kept.before == 123 && kept.after == 456);
    omp_destroy_nest_lock(&kept.lock);
}

/* Values that one thread hands to all, of several types, many times in a row. */
static void handed(int threads) {
    int right = 0;
    for (int round = 0; round < 5; round++) {
#pragma omp parallel reduction(+ : right)
        {
            int number = 0;
            double part = 0;
            char text[20] = "";
#pragma omp single copyprivate(number, part, text)
            {
                number = round + 7;
                part = round * 0.5;
                strcpy(text, "from one to all");
            }
            right += number == round + 7 && part == round * 0.5 && !strcmp(text, "from one to all");
#pragma omp masked
            right += 100;
        }
    }
    CHECK(right == 5 * threads + 500);
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads();
    CHECK(argc == 2 && atoi(argv[1]) == threads);
    loops();
    many(threads);
    serial(threads);
    tasks();
    untied();
    teams();
    locks(threads);
    handed(threads);
    printf("good %s\n", argv[1]);
    return 0;
}
