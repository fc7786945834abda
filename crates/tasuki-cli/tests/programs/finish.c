/* finish ROUND: the last thing that happens before MPI_Finalize is a message whose receiver has all it
 * needs to leave: its last frame, or the acknowledgement of it, may be lost. Prints `finalizing` just
 * before. */
#include "proof.h"

enum { SIZES = 4 };

int main(int argc, char **argv) {
    static const int bytes[SIZES] = {0, 900, 9000, 300000};
    proof_begin(&argc, &argv);
    long round = proof_argument(argc, argv, 1, 0);
    int next = (proof_rank + 1) % proof_ranks, before = (proof_rank + proof_ranks - 1) % proof_ranks;
    char *out = proof_memory((size_t)bytes[SIZES - 1]), *in = proof_memory((size_t)bytes[SIZES - 1]);
    MPI_Request request;
    for (int i = 0; i < SIZES; i++) {
        int size = bytes[(i + round) % SIZES];
        proof_fill(out, (size_t)size, proof_key(proof_rank, next, (uint64_t)i));
        if (i == SIZES - 1) {
            printf("finalizing\n");
            fflush(stdout);
        }
        MPI_Isend(out, size, MPI_BYTE, next, i, MPI_COMM_WORLD, &request);
        MPI_Recv(in, size, MPI_BYTE, before, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        proof_check(in, (size_t)size, proof_key(before, proof_rank, (uint64_t)i), "finish");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    printf("rank %d finished\n", proof_rank);
    return 0;
}
