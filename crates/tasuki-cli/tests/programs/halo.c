/* halo [ROUNDS] [SEED]: every rank exchanges pieces of 1 byte to 300 KiB with two neighbours, as simulations
 * do: in turn a receive that waits, a blocking send and a wait; several at once; and sends that come before
 * their receives. Lengths are drawn at random. Some rounds receive less than was offered room for. */
#include "proof.h"

enum { DEPTH = 6, LONGEST = 300 << 10 };

static char *out[DEPTH], *in[DEPTH];

/* The length of message `slot` of a round from one rank: most are of a middle length. */
static int length(uint64_t seed, uint64_t round, int from, int slot) {
    uint64_t word = proof_word(seed + round, (uint64_t)from * DEPTH + (uint64_t)slot);
    uint64_t most = (uint64_t[]){200, 8 << 10, 40 << 10, 40 << 10, 80 << 10, LONGEST}[word % 6];
    return 1 + (int)((word >> 8) % most);
}

static int own(uint64_t seed, uint64_t round, int slot) {
    return length(seed, round, proof_rank, slot);
}

static void receive(uint64_t seed, uint64_t round, int from, int slot, MPI_Request *request) {
    int len = length(seed, round, from, slot), room = len + (round % 3 ? 0 : 777);
    memset(in[slot], 0xee, (size_t)len);
    MPI_Irecv(in[slot], room, MPI_BYTE, from, slot, MPI_COMM_WORLD, request);
}

static void check(uint64_t seed, uint64_t round, int from, int slot, MPI_Status *status) {
    int len = length(seed, round, from, slot);
    proof_status(status, from, slot, len, "halo");
    proof_check(in[slot], (size_t)len, proof_key(from, proof_rank, round * DEPTH + (uint64_t)slot), "halo");
}

static void fill(uint64_t seed, uint64_t round, int to, int slot) {
    int len = length(seed, round, proof_rank, slot);
    proof_fill(out[slot], (size_t)len, proof_key(proof_rank, to, round * DEPTH + (uint64_t)slot));
}

int main(int argc, char **argv) {
    proof_begin(&argc, &argv);
    long rounds = proof_argument(argc, argv, 1, 500);
    uint64_t seed = (uint64_t)proof_argument(argc, argv, 2, 1);
    int next = (proof_rank + 1) % proof_ranks, before = (proof_rank + proof_ranks - 1) % proof_ranks;
    for (int slot = 0; slot < DEPTH; slot++)
        out[slot] = proof_memory(LONGEST + 1000), in[slot] = proof_memory(LONGEST + 1000);
    for (uint64_t round = 0; round < (uint64_t)rounds; round++) {
        MPI_Request requests[2 * DEPTH];
        MPI_Status statuses[2 * DEPTH];
        for (int slot = 0; slot < DEPTH; slot++)
            fill(seed, round, next, slot);
        switch (round % 3) {
        case 0: /* as LAMMPS does it */
            for (int slot = 0; slot < DEPTH; slot++) {
                receive(seed, round, before, slot, requests);
                MPI_Send(out[slot], own(seed, round, slot), MPI_BYTE, next, slot, MPI_COMM_WORLD);
                MPI_Wait(requests, statuses);
                check(seed, round, before, slot, statuses);
            }
            break;
        case 1: /* all at once */
            for (int slot = 0; slot < DEPTH; slot++)
                receive(seed, round, before, slot, &requests[slot]);
            for (int slot = 0; slot < DEPTH; slot++)
                MPI_Isend(out[slot], own(seed, round, slot), MPI_BYTE, next, slot, MPI_COMM_WORLD,
                          &requests[DEPTH + slot]);
            MPI_Waitall(2 * DEPTH, requests, statuses);
            for (int slot = 0; slot < DEPTH; slot++)
                check(seed, round, before, slot, &statuses[slot]);
            break;
        case 2: /* sent before they are received, and received in another order */
            for (int slot = 0; slot < DEPTH; slot++)
                MPI_Isend(out[slot], own(seed, round, slot), MPI_BYTE, next, slot, MPI_COMM_WORLD,
                          &requests[slot]);
            MPI_Barrier(MPI_COMM_WORLD);
            for (int slot = DEPTH - 1; slot >= 0; slot--) {
                MPI_Request request;
                receive(seed, round, before, slot, &request);
                MPI_Wait(&request, &statuses[slot]);
                check(seed, round, before, slot, &statuses[slot]);
            }
            MPI_Waitall(DEPTH, requests, MPI_STATUSES_IGNORE);
            break;
        }
    }
    proof_end("halo");
    return 0;
}
