/* The driver: verifies, calibrates and times one point.
 *
 * Rank 0 decides everything that all must agree on (how many iterations, whether to go on) and broadcasts it;
 * no other rank's clock or speed counts. Idle ranks sleep: with more ranks than cores a rank that spins in a
 * barrier would be measured along with the two that work. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { TAG_WAKE = 77 };
enum { LEAST_SAMPLES = 3 };

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(struct timeval t) {
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* User and system time of this process, all threads. */
static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

unsigned char pattern_byte(int rank, int round, size_t index) {
    /* No period that a lost or repeated block of a power-of-two size could hide in. */
    size_t x = index * 131 + (index >> 8) * 29 + (index >> 16) * 7;
    return (unsigned char)(x + (size_t)rank * 37 + (size_t)round * 101 + 11);
}

void pattern_fill(unsigned char *to, size_t bytes, int rank, int round) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = pattern_byte(rank, round, i);
}

int pattern_check(const unsigned char *from, size_t bytes, int rank, int round, char *why, size_t room) {
    for (size_t i = 0; i < bytes; i++) {
        unsigned char expected = pattern_byte(rank, round, i);
        if (from[i] != expected) {
            snprintf(why, room, "byte %zu of the message of rank %d is 0x%02x, should be 0x%02x", i, rank,
                     from[i], expected);
            return 0;
        }
    }
    return 1;
}

/* What a point's timed part gave; valid on rank 0. */
struct timing {
    long iterations;  /* per batch */
    int count;        /* samples taken */
    double cpu, elapsed;
    double *samples;
};

/* One batch. Rank 0 returns its seconds: its own for a pair (it ends each iteration with an answer from its
 * partner), the slowest rank's for a collective. What comes before and after is outside of the timed part. */
static double batch(const struct test *test, void *state, MPI_Comm comm, long iterations) {
    double mine, slowest = 0;
    if (test->restart)
        test->restart(state);
    MPI_Barrier(comm);
    mine = now();
    test->run(state, iterations);
    mine = now() - mine;
    if (test->only_pair)
        return mine;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    return slowest;
}

/* Warms up and finds how many iterations fill one sample's share of the point's time. */
static long calibrate(const struct run *run, const struct test *test, void *state, MPI_Comm comm) {
    double share = run->seconds / run->samples, start = now();
    long most = test->most ? test->most(state) : 1000000000L;
    long order[2] = {0, 1}; /* whether this is final, iterations */
    while (!order[0]) {
        long count = order[1];
        double took = batch(test, state, comm, count);
        order[0] = took >= share || count >= most || now() - start > run->seconds;
        if (order[0]) {
            double fit = share * (double)count / (took > 0 ? took : share);
            order[1] = fit < 1 ? 1 : fit > (double)most ? most : (long)fit;
        } else {
            order[1] = count > most / 4 ? most : count * 4;
        }
        MPI_Bcast(order, 2, MPI_LONG, 0, comm);
    }
    return order[1];
}

/* Takes the samples. Ends early, with at least LEAST_SAMPLES, when the point has used twice its time. */
static void take_samples(const struct run *run, const struct test *test, void *state, MPI_Comm comm,
                         struct timing *timing) {
    double per_iteration = test->operations(state), start, cpu;
    int go_on = 1;
    MPI_Barrier(comm);
    start = now();
    cpu = cpu_seconds();
    timing->count = 0;
    while (go_on) {
        double took = batch(test, state, comm, timing->iterations);
        timing->samples[timing->count++] = took / (double)timing->iterations / per_iteration;
        go_on = timing->count < run->samples &&
                (timing->count < LEAST_SAMPLES || now() - start < 2 * run->seconds);
        MPI_Bcast(&go_on, 1, MPI_INT, 0, comm);
    }
    timing->elapsed = now() - start;
    cpu = cpu_seconds() - cpu;
    MPI_Reduce(&cpu, &timing->cpu, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
}

/* One call, in seconds of this rank; `left` of them may follow each other before the test starts again. */
static double one_call(const struct run *run, const struct test *test, void *state, MPI_Comm comm,
                       long *left) {
    double began;
    if ((*left)-- == 0) {
        *left = (test->most ? test->most(state) : run->calls) - 1;
        if (test->restart)
            test->restart(state);
        MPI_Barrier(comm);
    }
    began = now();
    test->run(state, 1);
    return now() - began;
}

/* Times every call by itself, as rank 0 sees it: what a program feels of the worst ones. Nothing comes
 * between two calls, so that ranks may run ahead of each other as far as the test lets them. */
static void time_calls(const struct run *run, const struct test *test, void *state, MPI_Comm comm,
                       struct timing *timing) {
    double per_call = test->operations(state), start, cpu;
    long left = 0;
    for (int i = 0; i < run->calls / 10; i++)
        one_call(run, test, state, comm, &left); /* warms up */
    start = now();
    cpu = cpu_seconds();
    timing->iterations = 1;
    for (timing->count = 0; timing->count < run->calls; timing->count++)
        timing->samples[timing->count] = one_call(run, test, state, comm, &left) / per_call;
    timing->elapsed = now() - start;
    cpu = cpu_seconds() - cpu;
    MPI_Reduce(&cpu, &timing->cpu, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
}

/* Compares what arrived; the same answer on every rank. A rank that finds a difference says so itself. */
static int verify(const struct run *run, const struct test *test, void *state, MPI_Comm comm, size_t bytes,
                  const char *when) {
    char why[200] = "";
    int good = !test->check || test->check(state, why, sizeof why), all_good;
    if (!good)
        fprintf(stderr, "tasuki-mpi-bench: rank %d: %s, %zu bytes, %s: %s\n", run->rank, test->name, bytes,
                when, why);
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, comm);
    return all_good;
}

static void print_line(const struct run *run, const struct test *test, const void *state, size_t bytes,
                       const struct timing *t) {
    double moved = test->moved(state) * (double)t->iterations * t->count;
    printf("{\"test\":\"%s\",\"bytes\":%zu,\"ranks\":%d,\"active_ranks\":%d,\"hosts\":%d,", test->name, bytes,
           run->ranks, test->only_pair ? 2 : run->ranks, run->hosts);
    printf("\"iterations\":%ld,\"operations\":%g,\"moved_bytes\":%.0f,", t->iterations,
           test->operations(state), moved);
    printf("\"cpu_s\":%.6f,\"elapsed_s\":%.6f,", t->cpu, t->elapsed);
    if (test->verifies)
        printf("\"verified\":\"%s\",", test->verifies);
    else
        printf("\"verified\":null,");
    printf("\"samples\":[");
    for (int i = 0; i < t->count; i++)
        printf("%s%.9g", i ? "," : "", t->samples[i]);
    printf("]}\n");
    fflush(stdout);
}

/* A point, for the ranks that take part in it. */
static int measure_active(const struct run *run, const struct test *test, MPI_Comm comm, size_t bytes) {
    static struct timing timing;
    void *state = test->prepare(run, comm, bytes);
    timing.samples = malloc(sizeof *timing.samples * (size_t)(run->calls ? run->calls : MAX_SAMPLES));
    int ready = state != NULL && timing.samples != NULL, all_ready, good = 1;
    MPI_Allreduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, comm);
    if (!all_ready) {
        free(timing.samples);
        if (state)
            test->release(state);
        if (!ready)
            fprintf(stderr, "tasuki-mpi-bench: rank %d: no memory for %s of %zu bytes\n", run->rank,
                    test->name, bytes);
        return EXIT_MEMORY;
    }
    test->fill(state, 0);
    test->run(state, 1);
    good = verify(run, test, state, comm, bytes, "before timing");
    if (good) {
        if (!run->calls)
            timing.iterations = calibrate(run, test, state, comm);
        test->fill(state, 1);
        (run->calls ? time_calls : take_samples)(run, test, state, comm, &timing);
        good = verify(run, test, state, comm, bytes, "after timing");
    }
    if (good && run->rank == 0)
        print_line(run, test, state, bytes, &timing);
    free(timing.samples);
    test->release(state);
    return good ? 0 : EXIT_MISMATCH;
}

/* Waits for rank 0's word without using the processor that the working ranks need. */
static int sleep_until_woken(void) {
    const struct timespec nap = {0, 2000000};
    int arrived = 0, result;
    for (;;) {
        MPI_Iprobe(0, TAG_WAKE, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
        if (arrived)
            break;
        nanosleep(&nap, NULL);
    }
    MPI_Recv(&result, 1, MPI_INT, 0, TAG_WAKE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return result;
}

int measure(const struct run *run, const struct test *test, size_t bytes) {
    int result;
    if (!test->only_pair)
        return measure_active(run, test, MPI_COMM_WORLD, bytes);
    if (run->pair == MPI_COMM_NULL)
        return sleep_until_woken();
    result = measure_active(run, test, run->pair, bytes);
    if (run->rank == 0)
        for (int other = 1; other < run->ranks; other++)
            if (other != run->partner)
                MPI_Send(&result, 1, MPI_INT, other, TAG_WAKE, MPI_COMM_WORLD);
    return result;
}
