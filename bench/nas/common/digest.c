/* --digest: proves that every message's payload arrived as it was sent. Sender and receiver each keep a sum
 * of hashes per partner; collective results must be the same on all ranks. Needed beside the kernels' own
 * verification because iterative methods forgive: a wrong number that changes the result by less than its
 * tolerance, or that later steps correct, verifies. */
#include "nas.h"
#include "profile.h"

#include <stdlib.h>
#include <string.h>

static bool wanted;
static int own_rank, ranks;
static uint64_t *out, *in; /* per partner */
static uint64_t shared;    /* of results that all ranks must have alike */

void digest_prepare(void)
{
    wanted = true;
    PMPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    out = nas_memory((size_t)ranks, sizeof *out);
    in = nas_memory((size_t)ranks, sizeof *in);
}

/* Depends on every bit and its place: each step is a bijection of the state and of the word taken in. */
static uint64_t hash(const void *payload, size_t bytes)
{
    const unsigned char *at = payload;
    uint64_t state = bytes;
    for (; bytes; at += 8) {
        uint64_t word = 0;
        size_t now = bytes < 8 ? bytes : 8;
        memcpy(&word, at, now);
        bytes -= now;
        state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        state ^= state >> 32;
    }
    return state;
}

void digest_sent(int to, const void *payload, size_t bytes)
{
    if (wanted && bytes) out[to] += hash(payload, bytes);
}

void digest_received(int from, const void *payload, size_t bytes)
{
    if (wanted && bytes) in[from] += hash(payload, bytes);
}

void digest_shared(const void *result, size_t bytes)
{
    if (wanted) shared = hash(result, bytes) + 31 * shared;
}

bool digest_agrees(void)
{
    if (!wanted) return true;
    uint64_t *theirs = nas_memory((size_t)ranks, sizeof *theirs), first = shared;
    PMPI_Alltoall(out, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    PMPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    bool same = first == shared;
    for (int rank = 0; rank < ranks; rank++) same &= theirs[rank] == in[rank];
    same = nas_everywhere(same);
    nas_say(" digests of all messages: %s\n", same ? "agree" : "FAILURE");
    free(theirs);
    return same;
}
