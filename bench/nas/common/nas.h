/* What the kernels share: the run's options, the clock, the result and its customary form. C11 and calls of
 * MPI-2 only, so that any mpicc builds it. A program is one kernel's file(s) and all files of this folder. */
#ifndef TASUKI_NAS_H
#define TASUKI_NAS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of every rank. */
enum { NAS_USAGE = 2, NAS_UNSUCCESSFUL = 3, NAS_MEMORY = 4 };

/* What the command line said, and where this process is. */
struct nas_run {
    char class;          /* one of the kernel's */
    int rank, ranks;     /* in MPI_COMM_WORLD; the kernels use no other communicator for messages */
};

/* What a kernel hands back; the same on every rank. */
struct nas_result {
    char size[48];       /* "1400" or "64x64x64" */
    int iterations;
    double seconds;      /* the slowest rank's time between nas_start and nas_stop */
    double operations;   /* in 10^6, as the reports count them */
    bool verified;
};

/* Defined once by every kernel. */
struct nas_kernel {
    const char *name;                       /* "CG" */
    const char *operation;                  /* "floating point" */
    const char *classes;                    /* their letters, the smallest first */
    int most_ranks;                         /* powers of two up to this */
    void (*run)(const struct nas_run *run, struct nas_result *result);
};
extern const struct nas_kernel nas_kernel;

/* The timed section begins: all ranks have come, and profile, trace and damage begin to count. */
void nas_start(void);
/* It ends; seconds of the slowest rank. */
double nas_stop(void);

/* Seconds on a clock that only goes forward. */
double nas_now(void);

/* Zeroed memory, aligned to 64 bytes. Ends the run with NAS_MEMORY if there is none. */
void *nas_memory(size_t count, size_t each);

/* A line on rank 0 alone. */
void nas_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* |value - reference| <= tolerance * |reference|; false for anything that is not a number. Says so on rank
 * 0. */
bool nas_agrees(const char *what, double value, double reference, double tolerance);

/* True if `mine` is true on every rank. */
bool nas_everywhere(bool mine);

/* The exponent of a power of two. */
static inline int nas_log2(int64_t power) { return 63 - __builtin_clzll((unsigned long long)power); }

/* The generator of the reports, section 2.3: x <- a x mod 2^46, uniform numbers x 2^-46. Products modulo 2^64
 * are exact modulo 2^46, so 64-bit integers suffice. */
#define NAS_MASK ((UINT64_C(1) << 46) - 1)
#define NAS_MULTIPLIER UINT64_C(1220703125) /* 5^13 */
static inline uint64_t nas_step(uint64_t x, uint64_t a) { return (a * x) & NAS_MASK; }
static inline double nas_uniform(uint64_t x) { return (double)(int64_t)x * 0x1p-46; }

/* a^n mod 2^46: multiplying by it skips n numbers. */
static inline uint64_t nas_power(uint64_t a, uint64_t n)
{
    uint64_t result = 1;
    for (; n; n >>= 1, a = nas_step(a, a))
        if (n & 1) result = nas_step(result, a);
    return result;
}

#endif
