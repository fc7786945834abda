/* reverse [MESSAGES]: rank 0 sends so many messages without waiting, and rank 1 receives them in reverse
 * order of tags: first all of them unexpected, then all of them with receives posted beforehand. Most are
 * small, some need a rendezvous. */
#include "proof.h"

static int bytes_of(long number) {
    if (number % 1000 == 7)
        return 100000;
    return number % 100 == 3 ? 3000 : (int)(number % 64);
}

/* Tags may end at 32,767: further messages go over further communicators. */
static MPI_Comm *comms;
static long tags;

static void make_comms(long messages) {
    int *upper, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &found);
    tags = found && *upper < messages ? *upper : messages;
    long count = (messages + tags - 1) / tags;
    comms = proof_memory((size_t)count * sizeof *comms);
    for (long i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
}

static void send_all(long messages, MPI_Request *requests, char **buffers, uint64_t round) {
    for (long i = 0; i < messages; i++) {
        buffers[i] = proof_memory((size_t)bytes_of(i));
        proof_fill(buffers[i], (size_t)bytes_of(i), proof_key(0, 1, round + (uint64_t)i));
        MPI_Isend(buffers[i], bytes_of(i), MPI_BYTE, 1, (int)(i % tags), comms[i / tags], &requests[i]);
    }
    MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
}

static void check(long i, const char *buffer, const MPI_Status *status, uint64_t round) {
    proof_status(status, 0, (int)(i % tags), bytes_of(i), "reverse");
    proof_check(buffer, (size_t)bytes_of(i), proof_key(0, 1, round + (uint64_t)i), "reverse");
}

static void receive_unexpected(long messages, uint64_t round) {
    char *buffer = proof_memory(100000);
    MPI_Status status;
    for (long i = messages - 1; i >= 0; i--) {
        MPI_Recv(buffer, 100000, MPI_BYTE, 0, (int)(i % tags), comms[i / tags], &status);
        check(i, buffer, &status, round);
    }
    free(buffer);
}

static void post_reversed(long messages, MPI_Request *requests, char **buffers) {
    for (long i = messages - 1; i >= 0; i--) {
        buffers[i] = proof_memory((size_t)bytes_of(i));
        MPI_Irecv(buffers[i], bytes_of(i), MPI_BYTE, 0, (int)(i % tags), comms[i / tags], &requests[i]);
    }
}

int main(int argc, char **argv) {
    proof_begin(&argc, &argv);
    long messages = proof_argument(argc, argv, 1, 100000);
    MPI_Request *requests = proof_memory((size_t)messages * sizeof *requests);
    MPI_Status *statuses = proof_memory((size_t)messages * sizeof *statuses);
    char **buffers = calloc((size_t)messages, sizeof *buffers);
    make_comms(messages);
    for (int posted = 0; posted < 2; posted++) {
        uint64_t round = (uint64_t)posted * 1000000;
        if (proof_rank == 1 && posted)
            post_reversed(messages, requests, buffers);
        MPI_Barrier(MPI_COMM_WORLD);
        if (proof_rank == 0)
            send_all(messages, requests, buffers, round);
        if (proof_rank == 1 && !posted)
            receive_unexpected(messages, round);
        if (proof_rank == 1 && posted) {
            MPI_Waitall((int)messages, requests, statuses);
            for (long i = 0; i < messages; i++)
                check(i, buffers[i], &statuses[i], round);
        }
        for (long i = 0; i < messages; i++) {
            free(buffers[i]);
            buffers[i] = NULL;
        }
    }
    proof_end("reverse");
    return 0;
}
