/* Two ranks: ping-pong, windowed streaming, and ranks that compute after each message. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DATA = 1, TAG_ACK = 2 };

/* Stream: at most this many messages are in flight, and at most this many bytes, but never fewer than two
 * messages. The receiver answers each window with one 4-byte message. */
enum { WINDOW_MESSAGES = 64, WINDOW_BYTES = 32 << 20 };

/* Away: so long both ranks compute after each message, in seconds. */
static const double AWAY = 1e-3;

struct pair_state {
    MPI_Comm comm;
    int me, peer;       /* ranks in comm */
    int sends, receives;/* whether my `out` goes out, whether my `in` is written to */
    int round, corrupt;
    size_t bytes;
    int window;         /* messages in flight */
    unsigned char *out; /* one message */
    unsigned char *in;  /* `window` messages, one slot each: receive buffers must not overlap */
    MPI_Request *requests;
};

static void pair_release(void *p) {
    struct pair_state *s = p;
    free(s->out);
    free(s->in);
    free(s->requests);
    free(s);
}

static void *pair_prepare(const struct run *run, MPI_Comm comm, size_t bytes, int window) {
    struct pair_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->comm = comm;
    MPI_Comm_rank(comm, &s->me);
    s->peer = 1 - s->me;
    s->sends = s->receives = 1;
    s->corrupt = run->rank == run->corrupt_rank;
    s->bytes = bytes;
    s->window = window;
    s->out = malloc(bytes + 1);
    s->in = malloc(bytes * (size_t)window + 1);
    s->requests = malloc((size_t)window * sizeof *s->requests);
    if (!s->out || !s->in || !s->requests) {
        pair_release(s);
        return NULL;
    }
    return s;
}

static void pair_fill(void *p, int round) {
    struct pair_state *s = p;
    s->round = round;
    pattern_fill(s->out, s->bytes, s->me, round);
    if (s->corrupt && s->bytes)
        s->out[s->bytes / 2] ^= 0x40;
    memset(s->in, 0xEE, s->bytes * (size_t)s->window);
}

static int pair_check(void *p, char *why, size_t room) {
    struct pair_state *s = p;
    if (!s->receives)
        return 1;
    for (int slot = 0; slot < s->window; slot++)
        if (!pattern_check(s->in + (size_t)slot * s->bytes, s->bytes, s->peer, s->round, why, room))
            return 0;
    return 1;
}

static void *pingpong_prepare(const struct run *run, MPI_Comm comm, size_t bytes) {
    return pair_prepare(run, comm, bytes, 1);
}

static void pingpong_run(void *p, long count) {
    struct pair_state *s = p;
    int n = (int)s->bytes;
    for (long i = 0; i < count; i++) {
        if (s->me == 0) {
            MPI_Send(s->out, n, MPI_BYTE, s->peer, TAG_DATA, s->comm);
            MPI_Recv(s->in, n, MPI_BYTE, s->peer, TAG_DATA, s->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(s->in, n, MPI_BYTE, s->peer, TAG_DATA, s->comm, MPI_STATUS_IGNORE);
            MPI_Send(s->out, n, MPI_BYTE, s->peer, TAG_DATA, s->comm);
        }
    }
}

/* An iteration is a round trip: two messages. A sample is thus half a round trip. */
static double pingpong_operations(const void *p) {
    (void)p;
    return 2;
}

static double pingpong_moved(const void *p) {
    return 2.0 * (double)((const struct pair_state *)p)->bytes;
}

/* Rank 0 alone sends. */
static void *one_way_prepare(const struct run *run, MPI_Comm comm, size_t bytes, int window) {
    struct pair_state *s = pair_prepare(run, comm, bytes, window);
    if (s) {
        s->sends = s->me == 0;
        s->receives = s->me == 1;
    }
    return s;
}

static void *stream_prepare(const struct run *run, MPI_Comm comm, size_t bytes) {
    size_t window = bytes ? WINDOW_BYTES / bytes : WINDOW_MESSAGES;
    if (window > WINDOW_MESSAGES)
        window = WINDOW_MESSAGES;
    return one_way_prepare(run, comm, bytes, window < 2 ? 2 : (int)window);
}

static void stream_run(void *p, long count) {
    struct pair_state *s = p;
    int n = (int)s->bytes, ack = 0;
    for (long i = 0; i < count; i++) {
        for (int slot = 0; slot < s->window; slot++)
            if (s->sends)
                MPI_Isend(s->out, n, MPI_BYTE, s->peer, TAG_DATA, s->comm, &s->requests[slot]);
            else
                MPI_Irecv(s->in + (size_t)slot * s->bytes, n, MPI_BYTE, s->peer, TAG_DATA, s->comm,
                          &s->requests[slot]);
        MPI_Waitall(s->window, s->requests, MPI_STATUSES_IGNORE);
        if (s->sends)
            MPI_Recv(&ack, 1, MPI_INT, s->peer, TAG_ACK, s->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(&ack, 1, MPI_INT, s->peer, TAG_ACK, s->comm);
    }
}

/* An iteration is a window. */
static double stream_operations(const void *p) {
    return ((const struct pair_state *)p)->window;
}

static double stream_moved(const void *p) {
    const struct pair_state *s = p;
    return (double)s->window * (double)s->bytes;
}

static void *away_prepare(const struct run *run, MPI_Comm comm, size_t bytes) {
    return one_way_prepare(run, comm, bytes, 1);
}

/* Computes without a call of MPI. */
static void away_compute(void) {
    double end = now() + AWAY;
    while (now() < end) {
    }
}

/* Sender and receiver compute at the same time, unless the send lasts until the receiver calls MPI again. */
static void away_run(void *p, long count) {
    struct pair_state *s = p;
    int n = (int)s->bytes, answer = 0;
    for (long i = 0; i < count; i++) {
        if (s->sends) {
            MPI_Send(s->out, n, MPI_BYTE, s->peer, TAG_DATA, s->comm);
            away_compute();
            MPI_Recv(&answer, 1, MPI_INT, s->peer, TAG_ACK, s->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(s->in, n, MPI_BYTE, s->peer, TAG_DATA, s->comm, MPI_STATUS_IGNORE);
            away_compute();
            MPI_Send(&answer, 1, MPI_INT, s->peer, TAG_ACK, s->comm);
        }
    }
}

static double away_operations(const void *p) {
    (void)p;
    return 1;
}

static double away_moved(const void *p) {
    return (double)((const struct pair_state *)p)->bytes;
}

const struct test test_pingpong = {
    .name = "pingpong",
    .only_pair = 1,
    .minimum = 0,
    .multiple = 1,
    .verifies = "every byte, both directions",
    .prepare = pingpong_prepare,
    .fill = pair_fill,
    .run = pingpong_run,
    .check = pair_check,
    .release = pair_release,
    .operations = pingpong_operations,
    .moved = pingpong_moved,
};

const struct test test_stream = {
    .name = "stream",
    .only_pair = 1,
    .minimum = 1,
    .multiple = 1,
    .verifies = "every byte of every slot of the window",
    .prepare = stream_prepare,
    .fill = pair_fill,
    .run = stream_run,
    .check = pair_check,
    .release = pair_release,
    .operations = stream_operations,
    .moved = stream_moved,
};

const struct test test_away = {
    .name = "away",
    .only_pair = 1,
    .minimum = 0,
    .multiple = 1,
    .verifies = "every byte",
    .prepare = away_prepare,
    .fill = pair_fill,
    .run = away_run,
    .check = pair_check,
    .release = pair_release,
    .operations = away_operations,
    .moved = away_moved,
};
