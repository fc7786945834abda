/* collect [ROUNDS [FILE]]: collective operations of all kinds and sizes in turn, contents checked. Meant
 * for more ranks than cores, where a rank that waits must let another work. It ends earlier once rank 0
 * sees the file. */
#include "proof.h"
#include <unistd.h>

enum { MOST = 40000, LOOK_EVERY = 64 };

static unsigned char *out, *in;

static void broadcast(uint64_t round, int bytes) {
    int root = (int)(round % (uint64_t)proof_ranks);
    if (proof_rank == root)
        proof_fill(in, (size_t)bytes, proof_key(root, 0, round));
    MPI_Bcast(in, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    proof_check(in, (size_t)bytes, proof_key(root, 0, round), "bcast");
}

static void all_to_all(uint64_t round, int bytes) {
    for (int to = 0; to < proof_ranks; to++)
        proof_fill(out + (size_t)to * (size_t)bytes, (size_t)bytes, proof_key(proof_rank, to, round));
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < proof_ranks; from++)
        proof_check(in + (size_t)from * (size_t)bytes, (size_t)bytes, proof_key(from, proof_rank, round),
                    "alltoall");
}

static void gather(uint64_t round, int bytes) {
    proof_fill(out, (size_t)bytes, proof_key(proof_rank, 77, round));
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < proof_ranks; from++)
        proof_check(in + (size_t)from * (size_t)bytes, (size_t)bytes, proof_key(from, 77, round),
                    "allgather");
}

static void reduce(uint64_t round, int bytes) {
    int count = bytes / (int)sizeof(uint64_t);
    uint64_t *mine = (uint64_t *)out, *sum = (uint64_t *)in;
    for (int i = 0; i < count; i++)
        mine[i] = round * (uint64_t)i + (uint64_t)proof_rank;
    MPI_Allreduce(mine, sum, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        if (sum[i] != (round * (uint64_t)i * (uint64_t)proof_ranks
                       + (uint64_t)(proof_ranks * (proof_ranks - 1) / 2)))
            PROOF_FAIL("allreduce: element %d of %d is wrong", i, count);
}

static int is_ended(const char *file) {
    int ended = file && access(file, F_OK) == 0;
    MPI_Bcast(&ended, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return ended;
}

int main(int argc, char **argv) {
    static const int sizes[] = {8, 1200, 8, 16384, 0, MOST};
    proof_begin(&argc, &argv);
    long rounds = proof_argument(argc, argv, 1, 60);
    out = proof_memory((size_t)MOST * (size_t)proof_ranks);
    in = proof_memory((size_t)MOST * (size_t)proof_ranks);
    const char *file = argc > 2 ? argv[2] : NULL;
    for (long round = 1; round <= rounds; round++) {
        if (file && round % LOOK_EVERY == 0 && is_ended(file))
            break;
        int bytes = sizes[round % 6];
        MPI_Barrier(MPI_COMM_WORLD);
        broadcast((uint64_t)round, bytes);
        all_to_all((uint64_t)round, bytes);
        gather((uint64_t)round, bytes);
        reduce((uint64_t)round, bytes);
    }
    proof_end("collect");
    return 0;
}
