/* spawn [ROUNDS [world|self [HOST]]]: all ranks together (or each by itself) start two more processes of
 * this program (on HOST), talk to them directly and in a merged communicator, and let them go. */
#include "proof.h"

enum { CHILDREN = 2, BYTES = 200000 };

/* Every rank of one side sends to every rank of the other. */
static void across(MPI_Comm inter, int my_side) {
    int me, others;
    char *out = proof_memory(BYTES), *in = proof_memory(BYTES);
    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &others);
    MPI_Request *requests = proof_memory((size_t)others * sizeof *requests);
    proof_fill(out, BYTES, proof_key(my_side, me, 5));
    for (int to = 0; to < others; to++)
        MPI_Isend(out, BYTES, MPI_BYTE, to, 1, inter, &requests[to]);
    for (int from = 0; from < others; from++) {
        MPI_Recv(in, BYTES, MPI_BYTE, from, 1, inter, MPI_STATUS_IGNORE);
        proof_check(in, BYTES, proof_key(!my_side, from, 5), "spawn");
    }
    MPI_Waitall(others, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(out);
    free(in);
}

static void together(MPI_Comm inter, int high) {
    MPI_Comm merged;
    int rank, size;
    long sum = 0, mine;
    MPI_Intercomm_merge(inter, high, &merged);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    mine = rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, merged);
    if (sum != (long)size * (size + 1) / 2)
        PROOF_FAIL("spawn: the sum over %d merged ranks is %ld", size, sum);
    MPI_Comm_free(&merged);
}

static void child(MPI_Comm parent) {
    across(parent, 1);
    together(parent, 1);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
}

int main(int argc, char **argv) {
    MPI_Comm parent, children, parents = MPI_COMM_WORLD;
    MPI_Info info;
    int errors[CHILDREN];
    proof_begin(&argc, &argv);
    long rounds = proof_argument(argc, argv, 1, 3);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child(parent);
        return 0;
    }
    if (argc > 2 && !strcmp(argv[2], "self"))
        parents = MPI_COMM_SELF;
    MPI_Info_create(&info);
    if (argc > 3)
        MPI_Info_set(info, "host", argv[3]);
    for (long round = 0; round < rounds; round++) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, info, 0, parents, &children, errors);
        across(children, 0);
        together(children, 0);
        MPI_Comm_disconnect(&children);
    }
    MPI_Info_free(&info);
    proof_end("spawn");
    return 0;
}
