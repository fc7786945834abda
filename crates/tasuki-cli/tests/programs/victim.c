/* victim receive|send|nobody: the last rank is killed (SIGKILL, by itself) while the others talk to it.
 * They must get an error: with MPI_ERRORS_RETURN they print `rank R: error after T s` and leave without
 * MPI_Finalize, which could not succeed. Rank 0 waits for the victim in MPI_Recv or sends to it until that
 * fails; so does every other rank. `nobody`: nobody is killed. */
#include "proof.h"

#include <signal.h>
#include <unistd.h>

enum { BYTES = 100000 };

static int wait_for_it(int victim, char *buffer) {
    return MPI_Recv(buffer, BYTES, MPI_BYTE, victim, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int send_to_it(int victim, char *buffer) {
    int result = MPI_SUCCESS;
    while (result == MPI_SUCCESS)
        result = MPI_Send(buffer, BYTES, MPI_BYTE, victim, 2, MPI_COMM_WORLD);
    return result;
}

int main(int argc, char **argv) {
    char *buffer, words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    proof_begin(&argc, &argv);
    int victim = proof_ranks - 1, sends = argc > 1 && !strcmp(argv[1], "send");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    buffer = proof_memory(BYTES);
    proof_fill(buffer, BYTES, 1);
    /* Everybody has talked to everybody: connections stand. */
    for (int root = 0; root < proof_ranks; root++)
        MPI_Bcast(buffer, BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int shift = 1; shift < proof_ranks; shift++)
        MPI_Sendrecv_replace(buffer, BYTES, MPI_BYTE, (proof_rank + shift) % proof_ranks, 1,
                             (proof_rank + proof_ranks - shift) % proof_ranks, 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && !strcmp(argv[1], "nobody")) {
        proof_end("victim");
        return 0;
    }
    if (proof_rank == victim) {
        sleep(1);
        raise(SIGKILL);
    }
    double start = proof_now();
    int result = sends ? send_to_it(victim, buffer) : wait_for_it(victim, buffer);
    MPI_Error_string(result, words, &length);
    /* The victim waited for a second. */
    printf("rank %d: error after %.1f s: %s\n", proof_rank, proof_now() - start - 1, words);
    fflush(stdout);
    _exit(result == MPI_SUCCESS);
}
