/*
 * tasuki_shared.h - memory that the processes of a program share, on all hosts that Tasuki has joined.
 *
 * Every process opens the memory, which lies at the same address in all of them, and uses it as threads of
 * one process use theirs: loads, stores and atomic operations, in one order in which all processes agree
 * (sequential consistency). A page of 4096 bytes has one process that may write it, or several that may read
 * it; a thread that touches a page which is elsewhere waits until it has come, about 0.1 ms. What is fast is
 * therefore what keeps to its own pages. tasuki_shared(3) is the manual.
 *
 *     tasuki run --resident -n 4 ./program
 *
 * starts one process for each slot, and tells them where they meet (RANK, WORLD_SIZE, MASTER_ADDR,
 * MASTER_PORT). Without these variables the program shares with itself.
 *
 * RETURN VALUES. As in tasuki.h: 0 or a positive number, or a negative TASUKI_E... code, of which
 * tasuki_last_error says more.
 *
 * THREADS. Any number of threads may use the memory and call these functions.
 *
 * DEATH. If a process dies, pages are lost with it, and threads that wait for them could never go on: the
 * others print why and exit with status 1.
 *
 * SYSTEM CALLS with addresses in this memory work if the process may handle faults of the kernel (root, or
 * access to /dev/userfaultfd); otherwise they fail with EFAULT unless the page is here: touch it first.
 *
 * FORK. A child does not have the memory.
 */
#ifndef TASUKI_SHARED_H
#define TASUKI_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "tasuki.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a page, which moves from process to process as a whole. */
#define TASUKI_SHARED_PAGE 4096

/* A process's part in shared memory. */
typedef struct tasuki_shared tasuki_shared;

/*
 * Joins the other processes, and waits until all have come. All must ask for the same number of bytes; 0
 * means 16 GiB. Pages that nobody has touched take no memory and hold zeros.
 * TASUKI_EENV: a variable of the environment is missing or wrong; TASUKI_EOPEN: the kernel has no
 * userfaultfd(2), the address is taken, or the others did not come within a minute.
 */
int tasuki_shared_open(size_t bytes, tasuki_shared **shared);

/*
 * Leaves, and waits until all processes do. No thread may touch the memory any more. NULL is allowed.
 */
int tasuki_shared_close(tasuki_shared *shared);

/* This process, counted from 0. */
int tasuki_shared_rank(const tasuki_shared *shared);

/* The number of processes. */
int tasuki_shared_size(const tasuki_shared *shared);

/*
 * Gives zeroed memory that was never given before, at a multiple of align (0: any), which must be a power of
 * two; a page or more begins with a page. Nothing is asked of other processes: all of them are given the same
 * memory if they ask for the same, in the same order. It is not given back before tasuki_shared_close.
 * TASUKI_EINVAL: so much is not left.
 */
int tasuki_shared_allocate(const tasuki_shared *shared, size_t bytes, size_t align, void **memory);

/* Waits until all processes have come here: one thread of each. */
int tasuki_shared_barrier(const tasuki_shared *shared);

/* Takes a lock, known by its number in all processes, and waits for it. It is not recursive. */
int tasuki_shared_lock(const tasuki_shared *shared, uint32_t lock);

/* Gives a lock back. TASUKI_EINVAL: no thread of this process has it. */
int tasuki_shared_unlock(const tasuki_shared *shared, uint32_t lock);

/*
 * Asks for the pages of this memory, to read them or, if write is not 0, to write them, and does not wait:
 * many then come in the time of one.
 */
int tasuki_shared_fetch(const tasuki_shared *shared, const void *from, size_t bytes, int write);

/*
 * A phase of the program begins here in this process, and the one before it ends: a step of a loop behind its
 * barrier, say. Phases of the same kind have the same key, any number. What threads waited for in earlier
 * ones is asked for now, all together, unless that was found to gain no time.
 */
int tasuki_shared_phase(const tasuki_shared *shared, uint64_t key);

/* What has happened in this process since it joined. */
typedef struct tasuki_shared_counters {
    uint64_t wanted_read;  /* pages asked for to be read */
    uint64_t wanted_write; /* pages asked for to be written */
    uint64_t installed;    /* pages whose bytes came from another process */
    uint64_t fresh;        /* pages that nobody had touched before */
    uint64_t dropped;      /* copies that another process's write has taken away */
    uint64_t deferred;     /* requests of others that waited because the page had only just come */
    uint64_t sent;         /* pages whose bytes went to another process */
    uint64_t messages;     /* messages sent, those with pages included */
} tasuki_shared_counters;

int tasuki_shared_count(const tasuki_shared *shared, tasuki_shared_counters *counters);

#ifdef __cplusplus
}
#endif

#endif
