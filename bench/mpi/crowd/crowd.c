/* Many senders and one receiver, or everybody and everybody, with a rank of its own that sends 64 bytes to
 * rank 0 and back meanwhile.
 *
 *   mpirun -n 18 ./crowd incast BYTES MESSAGES       ranks 1 .. 16 to rank 0; rank 17 is the one that asks
 *   mpirun -n 17 ./crowd all BYTES MESSAGES          ranks 0 .. 15 to each other
 *
 * Prints one line of JSON. Every byte is compared. Exit codes: 0; 2 wrong arguments; 3 wrong bytes. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ASK = 1, BULK = 2, DONE = 3, SHORT = 64, IDLE = 500, MOST = 100000 };

struct crowd {
    int me, world, asker, all, messages; /* world: ranks of the crowd */
    size_t bytes;
    char *expected, *out;
    /* A receive for each sender, and what is known of it. */
    char **in;
    MPI_Request *receives;
    int *left;
    double *done_at;
};

static void *take(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "crowd: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    return memory;
}

/* What rank `from` sends: differs from rank to rank and from byte to byte. */
static void fill(char *bytes, size_t count, int from) {
    for (size_t at = 0; at < count; at++) bytes[at] = (char)(at * 7 + at / 251 + (size_t)from * 31);
}

static void check(const char *bytes, const char *expected, size_t count, int from) {
    if (memcmp(bytes, expected, count) == 0) return;
    fprintf(stderr, "crowd: wrong bytes from rank %d\n", from);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *times, int count, double q) {
    qsort(times, (size_t)count, sizeof *times, ascending);
    int at = (int)(q * count + 0.999999) - 1;
    return count == 0 ? 0 : times[at < 0 ? 0 : at >= count ? count - 1 : at];
}

static void pause_us(long us) {
    struct timespec wait = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&wait, NULL);
}

/* Asks rank 0, for the last time or not, and waits for its answer; half the time, seconds. */
static double ask(char last) {
    char bytes[SHORT] = {last};
    double begin = MPI_Wtime();
    MPI_Send(bytes, SHORT, MPI_CHAR, 0, ASK, MPI_COMM_WORLD);
    MPI_Recv(bytes, SHORT, MPI_CHAR, 0, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (MPI_Wtime() - begin) / 2;
}

/* The rank that asks: on the idle network, then until it hears that all is over. */
static void asker(void) {
    double *idle = take(IDLE * sizeof *idle), *busy = take(MOST * sizeof *busy);
    for (int at = 0; at < IDLE; at++) {
        idle[at] = ask(0);
        pause_us(1000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int over = 0, count = 0;
    MPI_Request done;
    double result[2];
    MPI_Irecv(result, 2, MPI_DOUBLE, 0, DONE, MPI_COMM_WORLD, &done);
    while (!over) {
        double took = ask(0);
        MPI_Test(&done, &over, MPI_STATUS_IGNORE);
        if (count < MOST && !over) busy[count++] = took;
        pause_us(2000);
    }
    ask(1);
    printf("{\"seconds\":%.6f,\"jain\":%.4f,\"idle_us\":%.2f,\"idle_p99_us\":%.2f,\"p50_us\":%.2f,\"p99_us\":"
           "%.2f,\"asked\":%d}\n",
           result[0], result[1], 1e6 * quantile(idle, IDLE, 0.5), 1e6 * quantile(idle, IDLE, 0.99),
           1e6 * quantile(busy, count, 0.5), 1e6 * quantile(busy, count, 0.99), count);
    free(idle);
    free(busy);
}

static int sends_to(const struct crowd *c, int from, int to) {
    return from != to && (c->all ? 1 : to == 0 && from > 0);
}

static void receive(struct crowd *c, int from) {
    MPI_Irecv(c->in[from], (int)c->bytes, MPI_CHAR, from, BULK, MPI_COMM_WORLD, &c->receives[from]);
}

/* Takes what has come from one sender; how many messages are still to come from all. */
static int arrived(struct crowd *c, int from, int left, double begin) {
    fill(c->expected, c->bytes, from);
    check(c->in[from], c->expected, c->bytes, from);
    memset(c->in[from], 0, c->bytes);
    if (--c->left[from] > 0)
        receive(c, from);
    else
        c->done_at[from] = MPI_Wtime() - begin;
    return left - 1;
}

/* Jain, Chiu, Hawe 1984, over the rates at which the senders were served. */
static double jain(const struct crowd *c) {
    double sum = 0, squares = 0;
    int count = 0;
    for (int from = 0; from < c->world; from++)
        if (sends_to(c, from, c->me)) {
            double rate = 1 / c->done_at[from];
            sum += rate, squares += rate * rate, count++;
        }
    return sum * sum / (count * squares);
}

/* A rank of the crowd: sends to whom it has to, receives, and rank 0 answers meanwhile. */
static void crowd(struct crowd *c) {
    int world = c->world, left = 0, sends = 0;
    char question[SHORT];
    MPI_Request asked = MPI_REQUEST_NULL, *out = take((size_t)world * sizeof *out);
    if (c->me == 0)
        for (int at = 0; at < IDLE; at++) {
            MPI_Recv(question, SHORT, MPI_CHAR, c->asker, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(question, SHORT, MPI_CHAR, c->asker, ASK, MPI_COMM_WORLD);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int from = 0; from < world; from++)
        if (sends_to(c, from, c->me)) {
            c->left[from] = c->messages;
            left += c->messages;
            receive(c, from);
        }
    if (c->me == 0) MPI_Irecv(question, SHORT, MPI_CHAR, c->asker, ASK, MPI_COMM_WORLD, &asked);
    for (int round = 0; round < c->messages || left > 0; round++) {
        sends = 0;
        for (int step = 1; step < world && round < c->messages; step++) {
            int to = (c->me + step) % world;
            if (sends_to(c, c->me, to))
                MPI_Isend(c->out, (int)c->bytes, MPI_CHAR, to, BULK, MPI_COMM_WORLD, &out[sends++]);
        }
        int sent = sends == 0;
        while (!sent || (round + 1 >= c->messages && left > 0)) {
            int flag = 0, which = 0;
            if (!sent) MPI_Testall(sends, out, &sent, MPI_STATUSES_IGNORE);
            if (left > 0) MPI_Testany(world, c->receives, &which, &flag, MPI_STATUS_IGNORE);
            if (flag && which != MPI_UNDEFINED) left = arrived(c, which, left, begin);
            if (c->me != 0) continue;
            MPI_Test(&asked, &flag, MPI_STATUS_IGNORE);
            if (!flag) continue;
            MPI_Send(question, SHORT, MPI_CHAR, c->asker, ASK, MPI_COMM_WORLD);
            MPI_Irecv(question, SHORT, MPI_CHAR, c->asker, ASK, MPI_COMM_WORLD, &asked);
        }
    }
    double result[2] = {MPI_Wtime() - begin, 0};
    free(out);
    if (c->me != 0) return;
    result[1] = jain(c);
    MPI_Send(result, 2, MPI_DOUBLE, c->asker, DONE, MPI_COMM_WORLD);
    for (int last = 0; !last;) {
        MPI_Wait(&asked, MPI_STATUS_IGNORE);
        last = question[0];
        MPI_Send(question, SHORT, MPI_CHAR, c->asker, ASK, MPI_COMM_WORLD);
        if (!last) MPI_Irecv(question, SHORT, MPI_CHAR, c->asker, ASK, MPI_COMM_WORLD, &asked);
    }
}

int main(int argc, char **argv) {
    struct crowd c = {0};
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    c.all = argc == 4 && strcmp(argv[1], "all") == 0;
    c.bytes = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    c.messages = argc == 4 ? atoi(argv[3]) : 0;
    if ((!c.all && (argc != 4 || strcmp(argv[1], "incast") != 0)) || size < 4 || c.bytes < 1 ||
        c.bytes > 1 << 30 || c.messages < 1) {
        if (c.me == 0) fprintf(stderr, "usage: crowd incast|all BYTES MESSAGES, on at least 4 ranks\n");
        MPI_Finalize();
        return 2;
    }
    c.asker = c.world = size - 1;
    if (c.me == c.asker) {
        asker();
        MPI_Finalize();
        return 0;
    }
    c.expected = take(c.bytes);
    c.out = take(c.bytes);
    fill(c.out, c.bytes, c.me);
    c.in = take((size_t)size * sizeof *c.in);
    c.receives = take((size_t)size * sizeof *c.receives);
    c.left = take((size_t)size * sizeof *c.left);
    c.done_at = take((size_t)size * sizeof *c.done_at);
    for (int from = 0; from < size; from++) {
        c.in[from] = sends_to(&c, from, c.me) ? take(c.bytes) : NULL;
        c.receives[from] = MPI_REQUEST_NULL;
    }
    crowd(&c);
    for (int from = 0; from < size; from++) free(c.in[from]);
    free(c.in), free(c.receives), free(c.left), free(c.done_at), free(c.out), free(c.expected);
    MPI_Finalize();
    return 0;
}
