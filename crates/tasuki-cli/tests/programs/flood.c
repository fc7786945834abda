/* flood [MESSAGES [BYTES]]: every other rank sends so many messages of so many bytes to rank 0 without
 * waiting, while rank 0 takes none of them: it calls MPI, but for other messages. Then it receives them
 * all. Prints by how much the flood raised rank 0's peak of resident memory (VmHWM), in KiB. */
#include "proof.h"

#include <unistd.h>

/* A field of /proc/self/status, in KiB. */
static long memory_kib(const char *field) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, field, strlen(field)))
            kib = strtol(line + strlen(field), NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

static void flood(long messages, int bytes) {
    MPI_Request *requests = proof_memory((size_t)messages * sizeof *requests);
    char *buffers = proof_memory((size_t)messages * (size_t)bytes);
    for (long i = 0; i < messages; i++) {
        char *buffer = buffers + (size_t)i * (size_t)bytes;
        proof_fill(buffer, (size_t)bytes, proof_key(proof_rank, 0, (uint64_t)i));
        MPI_Isend(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    /* All have been started. */
    MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
}

static void ignore(double seconds) {
    int arrived;
    for (double end = proof_now() + seconds; proof_now() < end; usleep(100))
        MPI_Iprobe(1, 3, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
}

static void drain(long messages, int bytes) {
    char *buffer = proof_memory((size_t)bytes);
    MPI_Status status;
    for (int from = 1; from < proof_ranks; from++)
        MPI_Recv(NULL, 0, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ignore(2);
    for (long i = 0; i < messages; i++)
        for (int from = 1; from < proof_ranks; from++) {
            MPI_Recv(buffer, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, &status);
            proof_status(&status, from, 1, bytes, "flood");
            proof_check(buffer, (size_t)bytes, proof_key(from, 0, (uint64_t)i), "flood");
        }
}

int main(int argc, char **argv) {
    proof_begin(&argc, &argv);
    long messages = proof_argument(argc, argv, 1, 100000);
    int bytes = (int)proof_argument(argc, argv, 2, 4000);
    MPI_Barrier(MPI_COMM_WORLD);
    long before = memory_kib("VmHWM:");
    if (proof_rank == 0)
        drain(messages, bytes);
    else
        flood(messages, bytes);
    if (proof_rank == 0)
        printf("peak grew by %ld KiB\n", memory_kib("VmHWM:") - before);
    proof_end("flood");
    return 0;
}
