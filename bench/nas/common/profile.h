/* The layer between the kernels and the MPI: wrappers of the profiling interface (MPI standard, chapter "Tool
 * Support") around every MPI call that a kernel makes in its timed section. They split the time, write the
 * trace and damage a message when asked to; otherwise each costs one test of a flag. */
#ifndef TASUKI_NAS_PROFILE_H
#define TASUKI_NAS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

struct profile_options {
    bool table;             /* --profile */
    const char *trace;      /* --trace FILE; NULL: none */
    bool digest;            /* --digest */
    long damage;            /* --damage N[:RANK[:BIT]]: the N-th message received, from 1; 0: none */
    int damage_rank;        /* who receives it; -1: the last rank */
    long damage_bit;        /* which bit of its payload; -1: see damage.c */
};

/* After MPI_Init. Does nothing unless one of the options is given. */
void profile_prepare(const struct profile_options *options);
/* The timed section begins and ends now. */
void profile_begin(double now);
void profile_end(double now);
/* Prints the table and writes the trace, where asked for. Collective. Returns false if the trace could not be
 * written, or the message to damage never came. */
bool profile_report(const char *kernel, char class, double seconds);

/* trace.c: a call of this rank into the MPI; what lies between two of them is computation. In seconds of
 * nas_now(). */
void trace_call(double begin, double end);
/* An event of the trace, which is such a call too; peer and tag -1: none. Several in a row may share one
 * call. */
void trace_add(const char *what, int peer, size_t bytes, int tag, double begin, double end);
bool trace_write(const char *path, const char *kernel, char class, double origin);

/* damage.c: a message of `bytes` bytes has been received into `payload`. */
void damage_prepare(long number, long bit);
void damage_received(void *payload, size_t bytes);
/* True if the message has come (or none was to be damaged). */
bool damage_done(void);

/* digest.c: payload as it was given to the MPI, as it came out, or the result of a collective operation. */
void digest_prepare(void);
void digest_sent(int to, const void *payload, size_t bytes);
void digest_received(int from, const void *payload, size_t bytes);
void digest_shared(const void *result, size_t bytes);
/* Collective; true if digests were not asked for. */
bool digest_agrees(void);

#endif
