/* headon [MIB]: neighbours send each other messages of so many MiB at the same time: sends first,
 * MPI_Sendrecv, and both directions several deep. */
#include "proof.h"

static int peer;

static void both(size_t bytes, int depth, char *out, char *in, uint64_t round) {
    MPI_Request requests[8];
    size_t part = bytes / (size_t)depth;
    proof_fill(out, bytes, proof_key(proof_rank, peer, round));
    memset(in, 0xee, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < depth; i++)
        MPI_Isend(out + (size_t)i * part, (int)part, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < depth; i++)
        MPI_Recv(in + (size_t)i * part, (int)part, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
    proof_check(in, bytes, proof_key(peer, proof_rank, round), "head-on");
}

int main(int argc, char **argv) {
    proof_begin(&argc, &argv);
    size_t bytes = (size_t)proof_argument(argc, argv, 1, 64) << 20;
    char *out = proof_memory(bytes), *in = proof_memory(bytes);
    peer = proof_rank ^ 1;
    if (peer >= proof_ranks)
        PROOF_FAIL("an even number of ranks is needed");
    both(bytes, 1, out, in, 1);
    both(bytes, 8, out, in, 2);
    proof_fill(out, bytes, proof_key(proof_rank, peer, 3));
    MPI_Sendrecv(out, (int)bytes, MPI_BYTE, peer, 9, in, (int)bytes, MPI_BYTE, peer, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    proof_check(in, bytes, proof_key(peer, proof_rank, 3), "head-on");
    proof_end("headon");
    return 0;
}
