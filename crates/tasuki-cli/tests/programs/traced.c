/* traced ROUNDS: what a trace of it must have is known. In each round every rank computes for 2 ms of
 * processor time, sends 40,009 bytes to the next rank, and receives as many from the one before; then rank 0
 * sends rank 1 two messages, of 5,003 and of 7,001 bytes, that rank 1 receives in the other order. Prints
 * the processor time that rank 0 has computed, in microseconds. */
#include "proof.h"

enum { RING = 40009, FIRST = 5003, SECOND = 7001 };

static double used(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void pass(int rank, int ranks, int round) {
    static char out[RING], in[RING];
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request request;
    proof_fill(out, RING, proof_key(rank, next, (uint64_t)round));
    MPI_Irecv(in, RING, MPI_BYTE, before, 1, MPI_COMM_WORLD, &request);
    MPI_Send(out, RING, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    proof_check(in, RING, proof_key(before, rank, (uint64_t)round), "ring");
}

static void cross(int rank) {
    static char first[FIRST], second[SECOND];
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Isend(first, FIRST, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(second, SECOND, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(second, SECOND, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(first, FIRST, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    double computed = 0;
    int rounds;
    proof_begin(&argc, &argv);
    rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int round = 0; round < rounds; round++) {
        double start = used();
        while (used() < start + 0.002)
            ;
        computed += used() - start;
        pass(proof_rank, proof_ranks, round);
        cross(proof_rank);
    }
    if (proof_rank == 0)
        printf("computed %.0f us\n", computed * 1e6);
    proof_end("traced");
    return 0;
}
