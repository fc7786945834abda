/*
 * tasuki_checkpoint.h - checkpoints of programs that say themselves what they need to go on.
 *
 * Every process registers the memory that its state lies in. Once in a while all of them save it: each writes
 * an image to a disk of its host, and sends a copy to a process on another host. After a failure the program
 * is started again, on the same hosts or with others in the place of dead ones, and all processes go on from
 * the newest epoch of which every image is still somewhere and intact. tasuki_checkpoint(3) is the manual.
 *
 *     #include <mpi.h>
 *     #include <tasuki_checkpoint.h>     (after mpi.h, for tasuki_checkpoint_open_mpi)
 *
 *     tasuki_checkpoint *checkpoint;
 *     tasuki_checkpoint_open_mpi(MPI_COMM_WORLD, NULL, &checkpoint);
 *     tasuki_checkpoint_add(checkpoint, 0, &step, sizeof step);
 *     tasuki_checkpoint_add(checkpoint, 1, field, bytes);
 *     tasuki_checkpoint_restore(checkpoint);
 *     for (; step < steps; step++) {
 *         if (tasuki_checkpoint_is_due(checkpoint) > 0)
 *             tasuki_checkpoint_save(checkpoint);
 *         compute(field);
 *     }
 *     tasuki_checkpoint_finish(checkpoint);
 *
 * The library needs no MPI: a program without one gives it two functions that exchange bytes.
 *
 * RETURN VALUES. As in tasuki.h: 0 or a positive number, or a negative TASUKI_E... code, of which
 * tasuki_last_error says more. If a collective call fails at one process it fails at all, except where the
 * functions that exchange bytes fail.
 *
 * COLLECTIVE CALLS. All processes call open, restore, is_due, save and finish in the same order.
 *
 * THREADS. One thread at a time may use a handle.
 */
#ifndef TASUKI_CHECKPOINT_H
#define TASUKI_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "tasuki.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A process's part in the checkpoints of its program. */
typedef struct tasuki_checkpoint tasuki_checkpoint;

/* How the processes of a program talk. Functions return 0, or another number if they fail. */
typedef struct tasuki_checkpoint_group {
    int32_t rank;  /* this process, counted from 0 */
    int32_t size;  /* the number of processes */
    void *context; /* given to the functions */
    /* Every process gives as many bytes, and gets those of all, in the order of ranks: MPI_Allgather. */
    int (*gather)(void *context, const void *mine, void *all, size_t bytes);
    /* Sends bytes to the process `to` while it receives from the process `from`: MPI_Sendrecv. Where to or
     * from is -1 there is nothing to send or receive. At most 4 MiB each. */
    int (*exchange)(void *context, const void *out, size_t out_bytes, int to, void *in, size_t in_bytes,
                    int from);
    /* Called once, by tasuki_checkpoint_close or a tasuki_checkpoint_open that fails; or NULL. */
    void (*release)(void *context);
} tasuki_checkpoint_group;

/* How checkpoints are taken. tasuki_checkpoint_options_init fills all fields. Folder and host are each
 * process's own; the rest is as the first process says. */
typedef struct tasuki_checkpoint_options {
    size_t size;               /* sizeof(tasuki_checkpoint_options) of the caller; set by ..._init */
    const char *folder;        /* where images lie, %h in it is the host's name; NULL: TASUKI_CHECKPOINT */
    const char *host;          /* name of this host, whose processes share its fate; NULL: asked */
    uint64_t every_seconds;    /* time between checkpoints; 0: what is best for their cost and the failures */
    uint64_t failures_seconds; /* mean time between failures of all hosts together; at least 1 */
    int32_t copies;            /* 1: another host keeps a copy of each image; or 0 */
    int32_t keep;              /* how many epochs are kept, at least 1 */
} tasuki_checkpoint_options;

/*
 * Fills *options with the defaults, as changed by TASUKI_CHECKPOINT_EVERY and TASUKI_CHECKPOINT_FAILURES: a
 * failure a day, copies, two epochs. size is sizeof(tasuki_checkpoint_options). TASUKI_EENV: a variable has a
 * value that cannot be.
 */
int tasuki_checkpoint_options_init(tasuki_checkpoint_options *options, size_t size);

/*
 * Opens the folder, which is made if it is not there, and stores a handle in *checkpoint, or NULL on failure.
 * The group is copied; options may be NULL. TASUKI_EENV: no folder is named; TASUKI_ECHECKPOINT: it cannot be
 * used, or another program uses it.
 */
int tasuki_checkpoint_open(const tasuki_checkpoint_group *group, const tasuki_checkpoint_options *options,
                           tasuki_checkpoint **checkpoint);

/* Frees the handle; what was saved stays. NULL is allowed. With MPI: before MPI_Finalize. */
void tasuki_checkpoint_close(tasuki_checkpoint *checkpoint);

/*
 * Registers memory under a number, in the place of what had this number before. The program may change it at
 * any time but during a call. Numbers and lengths must be those of the run that saved.
 * TASUKI_EINVAL: it overlaps memory under another number.
 */
int tasuki_checkpoint_add(tasuki_checkpoint *checkpoint, uint32_t number, void *memory, size_t bytes);

/* Forgets memory. TASUKI_ENOTFOUND: nothing has this number. */
int tasuki_checkpoint_remove(tasuki_checkpoint *checkpoint, uint32_t number);

/*
 * Fills the memory from the newest epoch that is complete. 1: so it did; 0: there is none, and the program
 * begins anew. Must come before the first save.
 * TASUKI_ECHECKPOINT: epochs are there but none is complete any more, or they are of another program; the
 * memory is unchanged.
 */
int tasuki_checkpoint_restore(tasuki_checkpoint *checkpoint);

/*
 * Counts a step of the program. 1: it should save now; 0: not yet. The answer is the same at all processes.
 * Hardly any call exchanges messages, so it may be asked in every step of a fast program.
 */
int tasuki_checkpoint_is_due(tasuki_checkpoint *checkpoint);

/*
 * Writes an epoch, and waits until all disks have it. TASUKI_ECHECKPOINT: some process could not write; the
 * epochs before are as they were, and the program may go on.
 */
int tasuki_checkpoint_save(tasuki_checkpoint *checkpoint);

/* Removes all epochs: the program has reached its end, and its next run begins anew. */
int tasuki_checkpoint_finish(tasuki_checkpoint *checkpoint);

/* What has happened at this process. */
typedef struct tasuki_checkpoint_counters {
    uint64_t epoch;      /* the newest epoch that was saved or restored; 0: none */
    uint64_t saved;      /* epochs saved by this run */
    uint64_t failed;     /* saves that have failed */
    uint64_t bytes;      /* bytes of this process's image in the newest epoch saved */
    uint64_t copied;     /* bytes of images of others of which this process keeps copies */
    uint64_t last_us;    /* microseconds that the last save took */
    uint64_t all_us;     /* microseconds that all saves took */
    uint64_t aim_us;     /* microseconds between checkpoints that are aimed at; 0 before the first is_due */
} tasuki_checkpoint_counters;

int tasuki_checkpoint_count(const tasuki_checkpoint *checkpoint, tasuki_checkpoint_counters *counters);

/*
 * Writes what the last restore found wrong with newer epochs and with single images, a line for each. Writes
 * at most size bytes, including the final NUL. Returns the length of the whole text without the NUL.
 */
int tasuki_checkpoint_notes(const tasuki_checkpoint *checkpoint, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#ifdef MPI_VERSION
#include <stdlib.h>

static inline int tasuki_checkpoint_mpi_gather(void *context, const void *mine, void *all, size_t bytes) {
    return MPI_Allgather((void *)mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *(MPI_Comm *)context);
}

static inline int tasuki_checkpoint_mpi_exchange(void *context, const void *out, size_t out_bytes, int to,
                                                 void *in, size_t in_bytes, int from) {
    if (to < 0)
        to = MPI_PROC_NULL;
    if (from < 0)
        from = MPI_PROC_NULL;
    return MPI_Sendrecv((void *)out, (int)out_bytes, MPI_BYTE, to, 0, in, (int)in_bytes, MPI_BYTE, from, 0,
                        *(MPI_Comm *)context, MPI_STATUS_IGNORE);
}

static inline void tasuki_checkpoint_mpi_release(void *context) {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (!is_over)
        MPI_Comm_free((MPI_Comm *)context);
    free(context);
}

/* tasuki_checkpoint_open for the processes of a communicator, of which it keeps a duplicate. */
static inline int tasuki_checkpoint_open_mpi(MPI_Comm communicator, const tasuki_checkpoint_options *options,
                                             tasuki_checkpoint **checkpoint) {
    MPI_Comm *own = (MPI_Comm *)malloc(sizeof *own);
    tasuki_checkpoint_group group = {0, 0, own, tasuki_checkpoint_mpi_gather, tasuki_checkpoint_mpi_exchange,
                                     tasuki_checkpoint_mpi_release};
    int rank, size;
    if (!own || MPI_Comm_dup(communicator, own) != MPI_SUCCESS || MPI_Comm_rank(*own, &rank) != MPI_SUCCESS
        || MPI_Comm_size(*own, &size) != MPI_SUCCESS) {
        free(own);
        *checkpoint = NULL;
        return TASUKI_EFAILED;
    }
    group.rank = rank;
    group.size = size;
    return tasuki_checkpoint_open(&group, options, checkpoint);
}
#endif

#endif
