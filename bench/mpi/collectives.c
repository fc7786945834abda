/* All ranks: barrier, allreduce, alltoall. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct collective_state {
    MPI_Comm comm;
    int me, ranks;
    int round, corrupt;
    size_t bytes;     /* alltoall: per pair of ranks; allreduce: the whole vector */
    void *out, *in;
    size_t room;      /* bytes of each of the two */
};

static void collective_release(void *p) {
    struct collective_state *s = p;
    free(s->out);
    free(s->in);
    free(s);
}

static void *collective_prepare(const struct run *run, MPI_Comm comm, size_t bytes, size_t room) {
    struct collective_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->comm = comm;
    s->me = run->rank;
    s->ranks = run->ranks;
    s->corrupt = run->rank == run->corrupt_rank;
    s->bytes = bytes;
    s->room = room;
    s->out = malloc(room + 1);
    s->in = malloc(room + 1);
    if (!s->out || !s->in) {
        collective_release(s);
        return NULL;
    }
    return s;
}

static double one_operation(const void *p) {
    (void)p;
    return 1;
}

/* Barrier: nothing is moved, nothing can be compared. */

static void *barrier_prepare(const struct run *run, MPI_Comm comm, size_t bytes) {
    (void)bytes;
    return collective_prepare(run, comm, 0, 0);
}

static void barrier_fill(void *p, int round) {
    (void)p;
    (void)round;
}

static void barrier_run(void *p, long count) {
    struct collective_state *s = p;
    for (long i = 0; i < count; i++)
        MPI_Barrier(s->comm);
}

static double barrier_moved(const void *p) {
    (void)p;
    return 0;
}

/* Allreduce: sums of small whole numbers, which doubles add exactly in any order. */

static void *allreduce_prepare(const struct run *run, MPI_Comm comm, size_t bytes) {
    return collective_prepare(run, comm, bytes, bytes);
}

static double allreduce_term(int rank, int round, size_t index) {
    return (double)(rank + 1) * (double)(index % 1009 + 1) + round;
}

static void allreduce_fill(void *p, int round) {
    struct collective_state *s = p;
    double *out = s->out;
    size_t count = s->bytes / sizeof *out;
    s->round = round;
    for (size_t i = 0; i < count; i++)
        out[i] = allreduce_term(s->me, round, i);
    if (s->corrupt)
        out[count / 2] += 1;
    memset(s->in, 0xEE, s->room);
}

static void allreduce_run(void *p, long count) {
    struct collective_state *s = p;
    int n = (int)(s->bytes / sizeof(double));
    for (long i = 0; i < count; i++)
        MPI_Allreduce(s->out, s->in, n, MPI_DOUBLE, MPI_SUM, s->comm);
}

static int allreduce_check(void *p, char *why, size_t room) {
    struct collective_state *s = p;
    const double *in = s->in;
    for (size_t i = 0; i < s->bytes / sizeof *in; i++) {
        double ranks = s->ranks;
        double expected = ranks * (ranks + 1) / 2 * (double)(i % 1009 + 1) + ranks * s->round;
        if (in[i] != expected) {
            snprintf(why, room, "element %zu is %.17g, should be %.17g", i, in[i], expected);
            return 0;
        }
    }
    return 1;
}

/* What goes in: one vector per rank. How often it crosses a wire is the algorithm's affair. */
static double allreduce_moved(const void *p) {
    const struct collective_state *s = p;
    return (double)s->bytes * s->ranks;
}

/* Alltoall: `bytes` from every rank to every rank. */

static void *alltoall_prepare(const struct run *run, MPI_Comm comm, size_t bytes) {
    return collective_prepare(run, comm, bytes, bytes * (size_t)run->ranks);
}

/* The sender of a block is known by its pattern, its addressee by the round that the pattern is of. */
static int alltoall_round(const struct collective_state *s, int from, int to) {
    return s->round + 2 * (from * s->ranks + to);
}

static void alltoall_fill(void *p, int round) {
    struct collective_state *s = p;
    s->round = round;
    for (int to = 0; to < s->ranks; to++)
        pattern_fill((unsigned char *)s->out + (size_t)to * s->bytes, s->bytes, s->me,
                     alltoall_round(s, s->me, to));
    if (s->corrupt)
        ((unsigned char *)s->out)[s->room / 2] ^= 0x40;
    memset(s->in, 0xEE, s->room);
}

static void alltoall_run(void *p, long count) {
    struct collective_state *s = p;
    int n = (int)s->bytes;
    for (long i = 0; i < count; i++)
        MPI_Alltoall(s->out, n, MPI_BYTE, s->in, n, MPI_BYTE, s->comm);
}

static int alltoall_check(void *p, char *why, size_t room) {
    struct collective_state *s = p;
    for (int from = 0; from < s->ranks; from++)
        if (!pattern_check((unsigned char *)s->in + (size_t)from * s->bytes, s->bytes, from,
                           alltoall_round(s, from, s->me), why, room))
            return 0;
    return 1;
}

static double alltoall_moved(const void *p) {
    const struct collective_state *s = p;
    return (double)s->bytes * s->ranks * (s->ranks - 1);
}

const struct test test_barrier = {
    .name = "barrier",
    .minimum = 0,
    .multiple = 1,
    .prepare = barrier_prepare,
    .fill = barrier_fill,
    .run = barrier_run,
    .release = collective_release,
    .operations = one_operation,
    .moved = barrier_moved,
};

const struct test test_allreduce = {
    .name = "allreduce",
    .minimum = sizeof(double),
    .multiple = sizeof(double),
    .verifies = "every sum, on every rank",
    .prepare = allreduce_prepare,
    .fill = allreduce_fill,
    .run = allreduce_run,
    .check = allreduce_check,
    .release = collective_release,
    .operations = one_operation,
    .moved = allreduce_moved,
};

const struct test test_alltoall = {
    .name = "alltoall",
    .minimum = 1,
    .multiple = 1,
    .verifies = "every byte of every block",
    .prepare = alltoall_prepare,
    .fill = alltoall_fill,
    .run = alltoall_run,
    .check = alltoall_check,
    .release = collective_release,
    .operations = one_operation,
    .moved = alltoall_moved,
};
