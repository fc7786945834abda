/* Shared by the files of tasuki-mpi-bench: the run's options, what a test must provide, and the driver that
 * times it. C11 and calls of MPI-2 only, so that any mpicc builds it. */
#ifndef TASUKI_MPI_BENCH_H
#define TASUKI_MPI_BENCH_H

#include <mpi.h>
#include <stddef.h>

/* Exit codes of every rank. */
enum { EXIT_USAGE = 2, EXIT_MISMATCH = 3, EXIT_MEMORY = 4 };

enum { MAX_SAMPLES = 1000, DEFAULT_SAMPLES = 50, MAX_CALLS = 1000000 };

/* What the command line said, and where this process is. */
struct run {
    double seconds;      /* time to spend on one point, seconds */
    int samples;         /* batches per point */
    int calls;           /* instead of batches: calls that are timed one by one; 0: none */
    int corrupt_rank;    /* this rank damages what it sends, to try the checks; -1: none */
    int rank, ranks;     /* in MPI_COMM_WORLD */
    int hosts;           /* distinct processor names */
    int partner;         /* the rank that rank 0 plays ping-pong with: on another host if there is one */
    MPI_Comm pair;       /* rank 0 and its partner, in that order; MPI_COMM_NULL on the others */
};

/* One test at one message size. The driver calls prepare; fill, run, check (a verified batch); run for
 * calibration and timing; check again; release. `check` looks at what the latest `run` received. */
struct test {
    const char *name;
    int only_pair;       /* 1: rank 0 and its partner alone take part, the others sleep */
    size_t minimum;      /* smallest message, bytes */
    size_t multiple;     /* sizes must be multiples of this, bytes */
    size_t minimum_per_rank; /* sizes must be at least this times the number of ranks, bytes */
    const char *verifies;/* what check() compares; NULL: the test moves nothing that could be compared */

    void *(*prepare)(const struct run *run, MPI_Comm comm, size_t bytes); /* NULL: out of memory */
    /* New contents to send (they depend on `round`) and receive buffers overwritten with something else. */
    void (*fill)(void *state, int round);
    /* Back to the start with the same contents, before each batch and untimed; NULL: nothing to do. */
    void (*restart)(void *state);
    /* `count` iterations; must leave nothing in flight. */
    void (*run)(void *state, long count);
    /* 1 if what was received is as it should be; otherwise 0 and the reason in `why`. */
    int (*check)(void *state, char *why, size_t room);
    void (*release)(void *state);
    /* Messages (or operations) per iteration: samples are seconds divided by this. */
    double (*operations)(const void *state);
    /* Payload bytes that one iteration moves between ranks, all ranks together. */
    double (*moved)(const void *state);
    /* Most iterations in a batch; NULL: no limit. */
    long (*most)(const void *state);
};

extern const struct test test_pingpong, test_stream, test_away;          /* messages.c */
extern const struct test test_barrier, test_allreduce, test_alltoall;    /* collectives.c */
extern const struct test test_heat;                                      /* heat.c */
extern const struct test test_halo;                                      /* halo.c */

/* Seconds on a clock that only goes forward. */
double now(void);

/* Runs one point and prints its line on rank 0. Returns 0, EXIT_MISMATCH or EXIT_MEMORY, the same on every
 * rank. Collective over MPI_COMM_WORLD. */
int measure(const struct run *run, const struct test *test, size_t bytes);

/* The byte at `index` of the message that `rank` sends in `round`. */
unsigned char pattern_byte(int rank, int round, size_t index);
void pattern_fill(unsigned char *to, size_t bytes, int rank, int round);
/* 1 if `from` holds that message, otherwise 0 and the first difference in `why`. */
int pattern_check(const unsigned char *from, size_t bytes, int rank, int round, char *why, size_t room);

#endif
