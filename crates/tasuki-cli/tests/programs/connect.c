/* connect [ROUNDS]: one half of the ranks opens a port and accepts, the other half connects; the halves
 * know each other by the port's name alone. */
#include "proof.h"

enum { BYTES = 150000 };

static void talk(MPI_Comm inter, int server, uint64_t round) {
    int me, others;
    char *out = proof_memory(BYTES), *in = proof_memory(BYTES);
    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &others);
    for (int shift = 0; shift < others; shift++) {
        /* In each turn every rank has one partner to send to and one to receive from. */
        int to = (me + shift) % others, from = ((me - shift) % others + others) % others;
        proof_fill(out, BYTES, proof_key(server * 64 + me, to, round));
        MPI_Sendrecv(out, BYTES, MPI_BYTE, to, shift, in, BYTES, MPI_BYTE, from, shift, inter,
                     MPI_STATUS_IGNORE);
        proof_check(in, BYTES, proof_key(!server * 64 + from, me, round), "connect");
    }
    free(out);
    free(in);
}

int main(int argc, char **argv) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, inter;
    proof_begin(&argc, &argv);
    long rounds = proof_argument(argc, argv, 1, 3);
    int server = proof_rank % 2 == 0;
    if (proof_ranks % 2)
        PROOF_FAIL("an even number of ranks is needed");
    MPI_Comm_split(MPI_COMM_WORLD, server, proof_rank, &half);
    for (long round = 0; round < rounds; round++) {
        if (proof_rank == 0)
            MPI_Open_port(MPI_INFO_NULL, port);
        if (proof_rank == 0)
            MPI_Send(port, sizeof port, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        if (proof_rank == 1)
            MPI_Recv(port, sizeof port, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (server)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
        talk(inter, server, (uint64_t)round);
        MPI_Comm_disconnect(&inter);
        if (proof_rank == 0)
            MPI_Close_port(port);
    }
    proof_end("connect");
    return 0;
}
