/* Halo exchange of a periodic two-dimensional grid of ranks, swap by swap as LAMMPS does it (forward_comm of
 * src/comm_brick.cpp): MPI_Irecv from one neighbour, MPI_Send to the opposite one, MPI_Wait. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { SWAPS = 4, TAG_HALO = 3 };

struct halo_state {
    MPI_Comm comm;
    int me;
    int to[SWAPS], from[SWAPS]; /* neighbours of each swap; this rank itself: nothing is sent */
    int round, corrupt;
    size_t bytes;               /* of one message */
    unsigned char *out, *in;    /* a message for each swap */
};

static void halo_release(void *p) {
    struct halo_state *s = p;
    free(s->out);
    free(s->in);
    free(s);
}

/* Left, right, down, up. A grid that is one rank wide has no neighbours in that dimension. */
static void find_neighbours(struct halo_state *s, int ranks) {
    int width[2] = {0, 0};
    MPI_Dims_create(ranks, 2, width);
    int x = s->me % width[0], y = s->me / width[0];
    int left = (x + width[0] - 1) % width[0], right = (x + 1) % width[0];
    int down = (y + width[1] - 1) % width[1], up = (y + 1) % width[1];
    s->to[0] = s->from[1] = y * width[0] + left;
    s->to[1] = s->from[0] = y * width[0] + right;
    s->to[2] = s->from[3] = down * width[0] + x;
    s->to[3] = s->from[2] = up * width[0] + x;
}

static void *halo_prepare(const struct run *run, MPI_Comm comm, size_t bytes) {
    struct halo_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->comm = comm;
    s->me = run->rank;
    s->corrupt = run->rank == run->corrupt_rank;
    s->bytes = bytes;
    s->out = malloc(SWAPS * bytes + 1);
    s->in = malloc(SWAPS * bytes + 1);
    if (!s->out || !s->in) {
        halo_release(s);
        return NULL;
    }
    find_neighbours(s, run->ranks);
    return s;
}

/* The sender of a message is known by its pattern, the swap by the round that the pattern is of. */
static void halo_fill(void *p, int round) {
    struct halo_state *s = p;
    s->round = round;
    for (int swap = 0; swap < SWAPS; swap++) {
        pattern_fill(s->out + (size_t)swap * s->bytes, s->bytes, s->me, round + 2 * swap);
        if (s->corrupt && s->bytes)
            s->out[(size_t)swap * s->bytes + s->bytes / 2] ^= 0x40;
    }
    memset(s->in, 0xEE, SWAPS * s->bytes);
}

static void halo_run(void *p, long count) {
    struct halo_state *s = p;
    int n = (int)s->bytes;
    for (long i = 0; i < count; i++)
        for (int swap = 0; swap < SWAPS; swap++) {
            MPI_Request request;
            if (s->to[swap] == s->me)
                continue;
            size_t at = (size_t)swap * s->bytes;
            MPI_Irecv(s->in + at, n, MPI_BYTE, s->from[swap], TAG_HALO, s->comm, &request);
            MPI_Send(s->out + at, n, MPI_BYTE, s->to[swap], TAG_HALO, s->comm);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
}

static int halo_check(void *p, char *why, size_t room) {
    struct halo_state *s = p;
    for (int swap = 0; swap < SWAPS; swap++)
        if (s->to[swap] != s->me &&
            !pattern_check(s->in + (size_t)swap * s->bytes, s->bytes, s->from[swap], s->round + 2 * swap, why,
                           room))
            return 0;
    return 1;
}

/* An iteration is all swaps. */
static double halo_operations(const void *p) {
    (void)p;
    return 1;
}

/* All ranks have as many neighbours. */
static double halo_moved(const void *p) {
    const struct halo_state *s = p;
    int ranks, swaps = 0;
    MPI_Comm_size(s->comm, &ranks);
    for (int swap = 0; swap < SWAPS; swap++)
        swaps += s->to[swap] != s->me;
    return (double)s->bytes * swaps * ranks;
}

const struct test test_halo = {
    .name = "halo",
    .minimum = 0,
    .multiple = 1,
    .verifies = "every byte from every neighbour",
    .prepare = halo_prepare,
    .fill = halo_fill,
    .run = halo_run,
    .check = halo_check,
    .release = halo_release,
    .operations = halo_operations,
    .moved = halo_moved,
};
