/* Constructs of OpenMP that few programs have, with results that are known: teams, loops of unsigned numbers
 * with the schedule of the run, cancellation (which is off), scopes, tasks over unsigned ranges, user-defined
 * reductions, copyin and copyprivate of all types, iterations that wait for others, atomic captures. */
#include "check.h"
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long number;

/* 2.10.2, 2.9.4: what teams do together is done once. */
static void teams(void) {
    long total = 0;
    int all = 0;
#pragma omp teams num_teams(3) reduction(+ : total)
#pragma omp distribute parallel for reduction(+ : total)
    for (int i = 0; i < 300; i++)
        total += i;
#pragma omp teams reduction(max : all)
    all = omp_get_num_teams() * 10 + omp_get_team_num();
    CHECK(total == 44850 && all >= 10);
}

/* 2.7.1: numbers beyond those of signed types. */
static void unsigned_loops(void) {
    const number begin = ULLONG_MAX - 15;
    number sum = 0;
    int order = 0;
#pragma omp parallel
    {
#pragma omp for schedule(runtime) reduction(+ : sum)
        for (number i = begin; i < begin + 10; i++)
            sum += i - begin;
#pragma omp for schedule(nonmonotonic : runtime) reduction(+ : sum)
        for (number i = begin + 10; i > begin; i -= 2)
            sum += i - begin;
#pragma omp for ordered schedule(runtime)
        for (number i = 0; i < 20; i++) {
#pragma omp ordered
            order += order == (int)i;
        }
    }
    CHECK(sum == 45 + 30 && order == 20);
}

/* 2.18: nothing is cancelled unless OMP_CANCELLATION says so. */
static void cancellation(int threads) {
    int loops = 0, parts = 0, regions = 0;
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < 100; i++) {
            if (i == 50) {
#pragma omp cancel for
            }
#pragma omp cancellation point for
#pragma omp atomic
            loops++;
        }
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
#pragma omp atomic
                parts++;
            }
#pragma omp section
#pragma omp atomic
            parts++;
        }
#pragma omp cancel parallel
#pragma omp barrier
#pragma omp atomic
        regions++;
    }
    CHECK(loops == 100 && parts == 2 && regions == threads);
}

/* 2.12.2: ranges of unsigned numbers, up and down. */
static void ranges(void) {
    number sum = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop
        for (number i = ULLONG_MAX - 10; i < ULLONG_MAX; i++) {
#pragma omp atomic
            sum += ULLONG_MAX - i;
        }
#pragma omp taskloop
        for (number i = 30; i > 10; i -= 4) {
#pragma omp atomic
            sum += i;
        }
#pragma omp taskloop
        for (number i = 5; i < 5; i++)
            sum = 1000;
    }
    CHECK(sum == 55 + 30 + 26 + 22 + 18 + 14);
}

typedef struct {
    int least, most;
} span;

static span joined(span a, span b) {
    return (span){a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most};
}
#pragma omp declare reduction(join : span : omp_out = joined(omp_out, omp_in)) \
    initializer(omp_priv = (span){INT_MAX, INT_MIN})

static int kept = 5;
#pragma omp threadprivate(kept)

/* 2.19: reductions of one's own, arrays, bits, copies of threadprivate variables. */
static void data(int threads) {
    span all = {INT_MAX, INT_MIN};
    int counts[4] = {0}, bits = 0, both = ~0, odd = 0, right = 0, least = 100;
    kept = 77;
#pragma omp parallel copyin(kept) reduction(+ : right)
    right += kept == 77;
#pragma omp parallel for reduction(join : all) reduction(+ : counts) reduction(| : bits) reduction(& : both) \
    reduction(^ : odd) reduction(min : least)
    for (int i = 10; i < 90; i++) {
        all = joined(all, (span){i, i});
        counts[i % 4]++;
        bits |= 1 << i % 8;
        both &= ~(1 << i % 3);
        odd ^= i;
        least = i < least ? i : least;
    }
    int expected = 0;
    for (int i = 10; i < 90; i++)
        expected ^= i;
    CHECK(all.least == 10 && all.most == 89 && least == 10 && right == threads);
    CHECK(counts[0] == 20 && counts[3] == 20 && bits == 255 && both == ~7 && odd == expected);
}

static int table[50] = {1}, filled[50];
static struct {
    double real;
    int parts[3];
} whole;
#pragma omp threadprivate(table, filled, whole)

/* 2.21.6: threadprivate arrays and structures are handed to all, and others may use one by its place. */
static void own(int threads) {
    int in = 0, from = 0, *const place = filled;
    for (int round = 1; round <= 3; round++) {
        table[3] = 9 * round;
        whole.parts[2] = 7 * round;
#pragma omp parallel copyin(table, whole) reduction(+ : in)
        in += table[0] == 1 && table[3] == 9 * round && whole.parts[2] == 7 * round;
#pragma omp parallel reduction(+ : from)
        {
#pragma omp single copyprivate(table, whole)
            {
                table[49] = 5 * round;
                whole.real = 0.5 * round;
            }
            from += table[49] == 5 * round && whole.real == 0.5 * round && table[3] == 9 * round;
#pragma omp single copyprivate(whole)
            whole.parts[1] = 3 * round;
            from += whole.parts[1] == 3 * round;
        }
#pragma omp parallel for
        for (int i = 0; i < 50; i++)
            place[i] += i * round;
    }
    /* An address that the region moves on, and one that it replaces. */
    int *moved = table, *replaced = table;
#pragma omp parallel
#pragma omp single
    {
        moved += 3;
        replaced = filled + 2;
    }
    CHECK(moved == table + 3 && replaced != table && *moved == 27);
    CHECK(in == 3 * threads && from == 6 * threads);
    for (int i = 0; i < 50; i++)
        CHECK(filled[i] == 6 * i);
}

enum { SIDE = 24 };
static long field[SIDE][SIDE], chain[400], apart[400];

/* A loop of a thread that is in an iteration of another. */
static long inside(int of) {
    long sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < of; i++)
        sum += i;
    return sum;
}

/* 2.19.9: iterations that wait for those to their left and above, and chains with gaps. */
static void waiting(void) {
    for (int round = 0; round < 3; round++) {
#pragma omp parallel
        {
#pragma omp for ordered(2) schedule(static, 1)
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                    field[i][j] =
                        i == 0 || j == 0 ? 1 + round : field[i - 1][j] % 1000 + field[i][j - 1] % 1000;
#pragma omp ordered depend(source)
                }
#pragma omp for ordered(1) schedule(dynamic, 3)
            for (int i = 395; i >= 5; i -= 3) {
#pragma omp ordered depend(sink : i + 6)
                chain[i] = i >= 390 ? i : chain[i + 6] + 1;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered(1) schedule(guided) nowait
            for (number i = 100; i < 160; i++) {
#pragma omp ordered depend(sink : i - 1)
                apart[i] = i == 100 ? 7 : apart[i - 1] + inside(5) - 9;
#pragma omp ordered depend(source)
            }
        }
        CHECK(chain[395] == 395 && chain[389] == 396 && chain[392] == 392 && chain[5] == 395 + 65);
        CHECK(apart[159] == 7 + 59);
        long above[SIDE] = {0};
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) {
                above[j] = i == 0 || j == 0 ? 1 + round : above[j] % 1000 + above[j - 1] % 1000;
                CHECK(field[i][j] == above[j]);
            }
        memset(field, 0, sizeof(field));
        memset(chain, 0, sizeof(chain));
        memset(apart, 0, sizeof(apart));
    }
}

/* 2.17.7: values of before and after. */
static void atomics(int threads) {
    int next = 0, seen = 0, last = 0;
    double real = 1;
#pragma omp parallel reduction(+ : seen)
    {
        int mine;
#pragma omp atomic capture
        mine = next++;
        seen += mine;
#pragma omp atomic update
        real *= 2;
#pragma omp barrier
#pragma omp atomic read
        mine = next;
#pragma omp critical(end)
        last += mine == omp_get_num_threads();
    }
    CHECK(seen == threads * (threads - 1) / 2 && real == (double)(1 << threads) && last == threads);
}

/* A block that all threads come to, with a sum of theirs. */
static void scopes(int threads) {
#ifndef __clang__
    int sum = 0;
#pragma omp parallel
    {
#pragma omp scope reduction(+ : sum)
        sum += 1;
#pragma omp scope nowait
        CHECK(omp_get_num_threads() == threads);
    }
    CHECK(sum == threads);
#else
    (void)threads;
#endif
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads();
    CHECK(argc == 2 && atoi(argv[1]) == threads);
    teams();
    unsigned_loops();
    cancellation(threads);
    ranges();
    data(threads);
    own(threads);
    waiting();
    atomics(threads);
    scopes(threads);
    printf("good %s\n", argv[1]);
    return 0;
}
