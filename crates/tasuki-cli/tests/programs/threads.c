/* threads [ROUNDS [THREADS]]: MPI_THREAD_MULTIPLE. Every thread has partners of its own in the other
 * ranks, on communicators of its own and on a shared one; all threads of a rank take part in one pool of
 * messages that are probed for. */
#include "proof.h"

#include <pthread.h>

enum { THREADS_MAX = 16, POOL_TAG = 30000 };

static long rounds;
static int threads;
static MPI_Comm own[THREADS_MAX], shared, pool;

static int bytes_of(uint64_t key) {
    static const int sizes[] = {0, 1, 8, 700, 1500, 9000, 20000, 70000, 200000};
    return sizes[proof_word(key, 99) % (sizeof sizes / sizeof *sizes)];
}

/* One message to every other rank and one from each, on tags of this thread. */
static void exchange(int thread, MPI_Comm comm, uint64_t round, int wildcard, char *out, char *in) {
    for (int shift = 1; shift < proof_ranks; shift++) {
        int to = (proof_rank + shift) % proof_ranks, from = (proof_rank + proof_ranks - shift) % proof_ranks;
        uint64_t number = round * 64 + (uint64_t)thread;
        int sent = bytes_of(proof_key(proof_rank, to, number));
        int due = bytes_of(proof_key(from, proof_rank, number));
        MPI_Request request;
        MPI_Status status;
        proof_fill(out, (size_t)sent, proof_key(proof_rank, to, number));
        MPI_Isend(out, sent, MPI_BYTE, to, thread, comm, &request);
        MPI_Recv(in, 200000, MPI_BYTE, wildcard ? MPI_ANY_SOURCE : from, thread, comm, &status);
        proof_status(&status, from, thread, due, "threads");
        proof_check(in, (size_t)due, proof_key(from, proof_rank, number), "threads");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* A persistent send of every second byte, which takes long to be packed, started again as soon as it has been
 * waited for. */
static void persistent(int thread, MPI_Comm comm, uint64_t round, char *out, char *in) {
    enum { STARTS = 3, BYTES = 50000 };
    int to = (proof_rank + 1) % proof_ranks, from = (proof_rank + proof_ranks - 1) % proof_ranks;
    MPI_Datatype sparse;
    MPI_Request request;
    MPI_Status status;
    MPI_Type_vector(BYTES, 1, 2, MPI_BYTE, &sparse);
    MPI_Type_commit(&sparse);
    MPI_Send_init(out, 1, sparse, to, thread, comm, &request);
    for (uint64_t start = 0; start < STARTS; start++) {
        uint64_t number = (round * STARTS + start) * 64 + (uint64_t)thread;
        proof_fill(in, BYTES, proof_key(proof_rank, to, number));
        for (int i = 0; i < BYTES; i++)
            out[2 * i] = in[i];
        MPI_Start(&request);
        MPI_Recv(in, BYTES, MPI_BYTE, from, thread, comm, &status);
        proof_status(&status, from, thread, BYTES, "threads, persistent");
        proof_check(in, BYTES, proof_key(from, proof_rank, number), "threads, persistent");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Type_free(&sparse);
}

/* Whichever thread finds a message takes it: what it probed must be what it receives. */
static void pooled(uint64_t round, int thread, char *out, char *in) {
    int to = (proof_rank + 1) % proof_ranks, count;
    uint64_t number = round * 64 + (uint64_t)thread, key;
    int size = bytes_of(number) + 8;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    proof_fill(out + 8, (size_t)size - 8, number);
    memcpy(out, &number, 8);
    MPI_Isend(out, size, MPI_BYTE, to, POOL_TAG, pool, &request);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, pool, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Mrecv(in, count, MPI_BYTE, &message, &status);
    memcpy(&key, in, 8);
    if (count != bytes_of(key) + 8)
        PROOF_FAIL("threads: probed %d bytes, the message says %d", count, bytes_of(key) + 8);
    proof_check(in + 8, (size_t)count - 8, key, "probed");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void *work(void *argument) {
    int thread = (int)(intptr_t)argument;
    char *out = proof_memory(200008), *in = proof_memory(200008);
    for (long round = 0; round < rounds; round++) {
        long mine = proof_rank + thread + round, sum = 0, want = 0;
        exchange(thread, shared, (uint64_t)round * 2 + 1, 0, out, in);
        /* With more ranks a wildcard could take a message of the next round: they are not in step. */
        exchange(thread, own[thread], (uint64_t)round * 2, proof_ranks == 2, out, in);
        persistent(thread, shared, (uint64_t)round, out, in);
        pooled((uint64_t)round, thread, out, in);
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, own[thread]);
        for (int rank = 0; rank < proof_ranks; rank++)
            want += rank + thread + round;
        if (sum != want)
            PROOF_FAIL("threads: allreduce gave %ld, not %ld", sum, want);
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t handles[THREADS_MAX];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &proof_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &proof_ranks);
    if (provided != MPI_THREAD_MULTIPLE)
        PROOF_FAIL("MPI_THREAD_MULTIPLE was refused: %d", provided);
    rounds = proof_argument(argc, argv, 1, 200);
    threads = (int)proof_argument(argc, argv, 2, 8);
    if (threads < 1 || threads > THREADS_MAX)
        PROOF_FAIL("1 to %d threads", THREADS_MAX);
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    MPI_Comm_dup(MPI_COMM_WORLD, &pool);
    for (int i = 0; i < threads; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&handles[i], NULL, work, (void *)(intptr_t)i))
            PROOF_FAIL("a thread cannot be started");
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    proof_end("threads");
    return 0;
}
