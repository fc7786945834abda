/* probe [ROUNDS]: every rank sends to every rank, itself among them, and takes what has come by MPI_Probe
 * and MPI_Recv, both with MPI_ANY_SOURCE: a process of one thread must receive the message that it probed
 * (MPI 4.1, 3.8.1). Argument `matched`: by MPI_Mprobe and MPI_Mrecv, `synchronous`: the same, and the
 * sends are synchronous; `named`: MPI_Recv from the source that the probe gave. */
#include "proof.h"

enum { MOST = 70000, TAG = 7 };

static int bytes_of(int from, int to, long round) {
    static const int sizes[] = {4, 8, 900, 9000, MOST};
    return sizes[proof_word(proof_key(from, to, (uint64_t)round), 3) % 5];
}

static void take(long round, const char *how, char *in) {
    MPI_Status probed, status;
    MPI_Message message;
    int count, source = MPI_ANY_SOURCE;
    if (!strcmp(how, "matched") || !strcmp(how, "synchronous")) {
        MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, &probed);
        MPI_Mrecv(in, MOST, MPI_BYTE, &message, &status);
    } else {
        MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &probed);
        if (!strcmp(how, "named"))
            source = probed.MPI_SOURCE;
        MPI_Recv(in, MOST, MPI_BYTE, source, TAG, MPI_COMM_WORLD, &status);
    }
    MPI_Get_count(&probed, MPI_BYTE, &count);
    proof_status(&status, probed.MPI_SOURCE, TAG, count, "probe: received something else than was probed");
    if (count != bytes_of(status.MPI_SOURCE, proof_rank, round))
        PROOF_FAIL("probe: %d bytes from %d", count, status.MPI_SOURCE);
    proof_check(in, (size_t)count, proof_key(status.MPI_SOURCE, proof_rank, (uint64_t)round), "probe");
}

int main(int argc, char **argv) {
    proof_begin(&argc, &argv);
    long rounds = proof_argument(argc, argv, 1, 500);
    const char *how = argc > 2 ? argv[2] : "any";
    const int synchronous = !strcmp(how, "synchronous");
    MPI_Request *requests = proof_memory((size_t)proof_ranks * sizeof *requests);
    char *out = proof_memory((size_t)proof_ranks * MOST), *in = proof_memory(MOST);
    for (long round = 0; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int to = 0; to < proof_ranks; to++) {
            int bytes = bytes_of(proof_rank, to, round);
            proof_fill(out + (size_t)to * MOST, (size_t)bytes, proof_key(proof_rank, to, (uint64_t)round));
            (synchronous ? MPI_Issend : MPI_Isend)(out + (size_t)to * MOST, bytes, MPI_BYTE, to, TAG,
                                                   MPI_COMM_WORLD, &requests[to]);
        }
        if (round % 2)
            MPI_Barrier(MPI_COMM_WORLD);
        for (int from = 0; from < proof_ranks; from++)
            take(round, how, in);
        MPI_Waitall(proof_ranks, requests, MPI_STATUSES_IGNORE);
    }
    proof_end("probe");
    return 0;
}
