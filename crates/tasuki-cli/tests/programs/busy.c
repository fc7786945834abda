/* busy [SECONDS]: a rank computes, without any call of MPI, in the middle of a rendezvous: first the
 * receiver, then the sender, then a bystander to which others send small messages meanwhile. Prints how
 * long the other side waited. */
#include "proof.h"

enum { BYTES = 16 << 20, SMALL = 512, NOTES = 200 };

static void phase(const char *name, int busy, int from, int to, double seconds) {
    MPI_Request request = MPI_REQUEST_NULL;
    char *buffer = proof_memory(BYTES);
    int done = 0;
    if (proof_rank == from)
        proof_fill(buffer, BYTES, proof_key(from, to, (uint64_t)busy));
    MPI_Barrier(MPI_COMM_WORLD);
    double start = proof_now();
    if (proof_rank == from)
        MPI_Isend(buffer, BYTES, MPI_BYTE, to, 1, MPI_COMM_WORLD, &request);
    if (proof_rank == to)
        MPI_Irecv(buffer, BYTES, MPI_BYTE, from, 1, MPI_COMM_WORLD, &request);
    /* The rendezvous is under way: its request has been sent, and perhaps some of its data. */
    while (proof_now() < start + 0.03)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (proof_rank == busy)
        proof_compute(seconds);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (proof_rank == to)
        proof_check(buffer, BYTES, proof_key(from, to, (uint64_t)busy), name);
    if (proof_rank == (busy == from ? to : from))
        printf("%s waited %.3f s of %.3f\n", name, proof_now() - start, seconds);
    free(buffer);
}

static void bystander(double seconds) {
    char note[SMALL];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = proof_now();
    if (proof_rank == 0) {
        proof_compute(seconds);
        for (int from = 1; from < proof_ranks; from++)
            for (int i = 0; i < NOTES; i++) {
                MPI_Recv(note, SMALL, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                proof_check(note, SMALL, proof_key(from, 0, (uint64_t)i), "bystander");
            }
    } else {
        for (int i = 0; i < NOTES; i++) {
            proof_fill(note, SMALL, proof_key(proof_rank, 0, (uint64_t)i));
            MPI_Send(note, SMALL, MPI_BYTE, 0, i, MPI_COMM_WORLD);
        }
        if (proof_rank == 1)
            printf("bystander waited %.3f s of %.3f\n", proof_now() - start, seconds);
    }
}

int main(int argc, char **argv) {
    proof_begin(&argc, &argv);
    double seconds = (double)proof_argument(argc, argv, 1, 60);
    phase("sender", 1, 0, 1, seconds);
    phase("receiver", 0, 0, 1, seconds);
    bystander(seconds);
    fflush(stdout);
    proof_end("busy");
    return 0;
}
