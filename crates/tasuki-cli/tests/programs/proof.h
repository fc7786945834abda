/* Shared by the programs of the tests: contents that depend on who sent what, and words on damage.
 * C11 and MPI 3.
 * Every program prints `NAME ok` on rank 0 once every rank has checked what it received. */
#ifndef TASUKI_PROOF_H
#define TASUKI_PROOF_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int proof_rank, proof_ranks;

/* Ends all ranks with exit code 3: what the program is there to find out has gone wrong. */
#define PROOF_FAIL(...)                                                                                     \
    do {                                                                                                    \
        fprintf(stderr, "rank %d: ", proof_rank);                                                           \
        fprintf(stderr, __VA_ARGS__);                                                                       \
        fprintf(stderr, "\n");                                                                              \
        fflush(stderr);                                                                                     \
        MPI_Abort(MPI_COMM_WORLD, 3);                                                                       \
        exit(3);                                                                                            \
    } while (0)

static inline void *proof_memory(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        PROOF_FAIL("no memory for %zu bytes", bytes);
    return memory;
}

/* Eight bytes of the stream that `key` names, from 8 * index on (SplitMix64's mixing). */
static inline uint64_t proof_word(uint64_t key, uint64_t index) {
    uint64_t z = key * 0x9e3779b97f4a7c15u + index + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void proof_fill(void *memory, size_t bytes, uint64_t key) {
    unsigned char *to = memory;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = proof_word(key, at / 8);
        memcpy(to + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

static inline void proof_check(const void *memory, size_t bytes, uint64_t key, const char *what) {
    const unsigned char *from = memory;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = proof_word(key, at / 8);
        if (memcmp(from + at, &word, bytes - at < 8 ? bytes - at : 8))
            PROOF_FAIL("%s: wrong contents within 8 bytes from %zu of %zu", what, at, bytes);
    }
}

/* Names a message: sender, receiver, number. */
static inline uint64_t proof_key(int from, int to, uint64_t number) {
    return ((uint64_t)(unsigned)from << 52) ^ ((uint64_t)(unsigned)to << 40) ^ number;
}

static inline void proof_status(const MPI_Status *status, int source, int tag, int bytes, const char *what) {
    int count;
    MPI_Get_count((MPI_Status *)status, MPI_BYTE, &count);
    if (status->MPI_SOURCE != source || status->MPI_TAG != tag || count != bytes)
        PROOF_FAIL("%s: got %d bytes, tag %d, of rank %d, not %d bytes, tag %d, of rank %d", what, count,
                   status->MPI_TAG, status->MPI_SOURCE, bytes, tag, source);
}

static inline double proof_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Uses the processor, and calls nothing of MPI, for so long. */
static inline void proof_compute(double seconds) {
    volatile double sink = 1;
    for (double end = proof_now() + seconds; proof_now() < end;)
        for (int i = 0; i < 10000; i++)
            sink = sink * 1.0000001 + 1e-9;
}

/* Argument `index` as a number, or a default. */
static inline long proof_argument(int argc, char **argv, int index, long otherwise) {
    return argc > index ? strtol(argv[index], NULL, 10) : otherwise;
}

static inline void proof_begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &proof_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &proof_ranks);
}

/* All ranks have checked what they received. */
static inline void proof_end(const char *name) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (proof_rank == 0) {
        printf("%s ok\n", name);
        fflush(stdout);
    }
    MPI_Finalize();
}

#endif
