/* onesided: latency of MPI one-sided operations with verified contents, one line per point.
 *
 *   mpicc -O2 -std=c11 -o onesided onesided.c
 *   mpirun -n 2 ./onesided [--seconds S] [--samples N] [--busy MS] [TEST...]
 *
 * Rank 0 acts on the last rank's window. TESTs (default: all):
 *   put, get, acc    8 B, 4 KiB, 1 MiB under one lock_all, each operation completed by MPI_Win_flush (acc:
 *                    MPI_SUM of 64-bit integers)
 *   fop              MPI_Fetch_and_op, 8 B, likewise
 *   fence            MPI_Put of those sizes between two fences
 *   lock             MPI_Win_lock, MPI_Put of 8 B, MPI_Win_unlock
 *   away-put, away-get, away-fop
 *                    as put, get and fop of 8 B and (not fop) 1 MiB, while the target computes without
 *                    calling MPI: in spells of --busy milliseconds (default 50) with one MPI_Iprobe
 *                    between two spells
 * Columns: test, bytes, samples, then microseconds per operation: lowest, 25 %, median, 75 %, highest.
 * Exit code 3: contents are wrong (standard error says which). */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MISMATCH = 3, LARGEST = 1 << 20, MAX_SAMPLES = 1000, TAG_END = 9 };

static int rank, ranks, target, samples = 20, busy_ms = 50;
static double seconds = 0.2; /* per point */
static MPI_Win window;
static uint64_t *exposed, *local;
static volatile uint64_t sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *test, size_t word, uint64_t is, uint64_t should) {
    fprintf(stderr, "onesided: %s: word %zu is %llx, should be %llx\n", test, word, (unsigned long long)is,
            (unsigned long long)should);
    MPI_Abort(MPI_COMM_WORLD, MISMATCH);
}

static uint64_t pattern(size_t word, uint64_t round) {
    return (word + 1) * 0x9e3779b97f4a7c15u ^ round * 0xbf58476d1ce4e5b9u;
}

/* Operations that rank 0 performs; each is complete at the target when it returns. */
static void put(size_t bytes) {
    MPI_Put(local, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, window);
    MPI_Win_flush(target, window);
}
static void get(size_t bytes) {
    MPI_Get(local, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, window);
    MPI_Win_flush(target, window);
}
static void acc(size_t bytes) {
    int count = (int)(bytes / 8);
    MPI_Accumulate(local, count, MPI_UINT64_T, target, 0, count, MPI_UINT64_T, MPI_SUM, window);
    MPI_Win_flush(target, window);
}
static void fop(size_t bytes) {
    uint64_t one = 1;
    (void)bytes;
    MPI_Fetch_and_op(&one, local, MPI_UINT64_T, target, 0, MPI_SUM, window);
    MPI_Win_flush(target, window);
}
static void lock(size_t bytes) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Put(local, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, window);
    MPI_Win_unlock(target, window);
}
static void fence(size_t bytes) {
    if (rank == 0)
        MPI_Put(local, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
}

enum sync { LOCK_ALL, NONE, FENCE };
enum effect { WRITES, READS, ADDS, COUNTS };
static const struct test {
    const char *name;
    void (*run)(size_t bytes);
    enum sync sync;
    enum effect effect;
    int away;
    size_t largest;
} tests[] = {
    {"put", put, LOCK_ALL, WRITES, 0, LARGEST},     {"get", get, LOCK_ALL, READS, 0, LARGEST},
    {"acc", acc, LOCK_ALL, ADDS, 0, LARGEST},       {"fop", fop, LOCK_ALL, COUNTS, 0, 8},
    {"fence", fence, FENCE, WRITES, 0, LARGEST},    {"lock", lock, NONE, WRITES, 0, 8},
    {"away-put", put, LOCK_ALL, WRITES, 1, LARGEST}, {"away-get", get, LOCK_ALL, READS, 1, LARGEST},
    {"away-fop", fop, LOCK_ALL, COUNTS, 1, 8},
};

/* What each has done to its memory before is seen by all afterwards. */
static void synchronise(const struct test *test) {
    if (test->sync == LOCK_ALL)
        MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test->sync == LOCK_ALL)
        MPI_Win_sync(window);
}

/* Both sides know what the window holds before; the side that can see the effect checks it. */
static void verify(const struct test *test, size_t bytes) {
    size_t words = bytes / 8;
    for (uint64_t round = 1; round <= 3; round++) {
        for (size_t i = 0; i < words; i++) {
            exposed[i] = pattern(i, 100 + round);
            local[i] = pattern(i, round);
        }
        synchronise(test);
        if (rank == 0 || test->sync == FENCE)
            test->run(bytes);
        synchronise(test);
        if (rank == target && test->effect != READS)
            for (size_t i = 0; i < words; i++) {
                uint64_t before = pattern(i, 100 + round), sent = pattern(i, round);
                uint64_t should = test->effect == WRITES ? sent : before + (test->effect == ADDS ? sent : 1);
                if (exposed[i] != should)
                    fail(test->name, i, exposed[i], should);
            }
        if (rank == 0 && (test->effect == READS || test->effect == COUNTS))
            for (size_t i = 0; i < words; i++)
                if (local[i] != pattern(i, 100 + round))
                    fail(test->name, i, local[i], pattern(i, 100 + round));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Computes until rank 0 has said that it is done. */
static void compute(void) {
    int ended = 0;
    while (!ended) {
        double end = now() + 1e-3 * busy_ms;
        while (now() < end)
            for (int i = 0; i < 1000; i++)
                sink += (uint64_t)i * sink + 1;
        MPI_Iprobe(0, TAG_END, MPI_COMM_WORLD, &ended, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&ended, 1, MPI_INT, 0, TAG_END, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double batch(const struct test *test, size_t bytes, long count) {
    double start = now();
    for (long i = 0; i < count; i++)
        test->run(bytes);
    return (now() - start) / (double)count;
}

/* Fences are collective, so all must agree on numbers. */
static void agree(long *numbers) {
    MPI_Bcast(numbers, 2, MPI_LONG, 0, MPI_COMM_WORLD);
}

static void measure(const struct test *test, size_t bytes) {
    static double taken[MAX_SAMPLES];
    long plan[2] = {1, samples}; /* operations per sample, samples */
    int acts = rank == 0 || test->sync == FENCE;
    MPI_Barrier(MPI_COMM_WORLD);
    if (test->away && rank == target) {
        compute();
        return;
    }
    if (!test->away) {
        double once = acts ? batch(test, bytes, 5) : 0;
        if (rank == 0 && once * samples < seconds)
            plan[0] = (long)(seconds / samples / once) + 1;
        if (rank == 0 && once * samples > seconds)
            plan[1] = (long)(seconds / once) + 5 < samples ? (long)(seconds / once) + 5 : samples;
        agree(plan);
    } else {
        plan[1] = samples < 12 ? samples : 12;
    }
    for (long i = 0; i < plan[1] && acts; i++)
        taken[i] = batch(test, bytes, plan[0]);
    if (rank != 0)
        return;
    if (test->away)
        MPI_Send(&(int){1}, 1, MPI_INT, target, TAG_END, MPI_COMM_WORLD);
    qsort(taken, (size_t)plan[1], sizeof *taken, by_value);
    printf("%-9s %8zu %4ld", test->name, bytes, plan[1]);
    for (int quarter = 0; quarter <= 4; quarter++)
        printf(" %10.2f", 1e6 * taken[(plan[1] - 1) * quarter / 4]);
    printf("\n");
    fflush(stdout);
}

static void point(const struct test *test, size_t bytes) {
    if (test->sync == LOCK_ALL)
        MPI_Win_lock_all(0, window);
    if (test->sync == FENCE)
        MPI_Win_fence(0, window);
    verify(test, bytes);
    measure(test, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (test->sync == FENCE)
        MPI_Win_fence(0, window);
    if (test->sync == LOCK_ALL)
        MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int wanted(const char *name, int words, char **word) {
    int any = 0;
    for (int i = 0; i < words; i++)
        any |= strcmp(word[i], name) == 0;
    return words == 0 || any;
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {8, 4096, LARGEST};
    int at = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--seconds") == 0)
            seconds = atof(argv[at + 1]);
        else if (strcmp(argv[at], "--samples") == 0)
            samples = atoi(argv[at + 1]);
        else if (strcmp(argv[at], "--busy") == 0)
            busy_ms = atoi(argv[at + 1]);
    }
    if (ranks < 2 || samples < 1 || samples > MAX_SAMPLES || seconds <= 0 || busy_ms < 1) {
        fprintf(stderr,
                "usage: onesided [--seconds S] [--samples 1..%d] [--busy MS] [TEST...]; 2 ranks at least\n",
                MAX_SAMPLES);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    target = ranks - 1;
    local = malloc(LARGEST);
    exposed = malloc(LARGEST);
    if (!local || !exposed)
        MPI_Abort(MPI_COMM_WORLD, 4);
    memset(local, 0, LARGEST);
    memset(exposed, 0, LARGEST);
    MPI_Win_create(exposed, LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (size_t t = 0; t < sizeof tests / sizeof *tests; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            if (wanted(tests[t].name, argc - at, argv + at) && sizes[s] <= tests[t].largest &&
                !(tests[t].away && sizes[s] == 4096))
                point(&tests[t], sizes[s]);
    MPI_Win_free(&window);
    free(exposed);
    free(local);
    MPI_Finalize();
    return 0;
}
