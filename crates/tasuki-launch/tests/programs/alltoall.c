/* Alltoall and allreduce over message sizes from below to above every eager limit, contents verified.
 * Prints `alltoall ok` on rank 0; exits 1 and names the first wrong byte otherwise. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char pattern(int from, int to, long i) {
    return (unsigned char)(from * 31 + to * 17 + i * 3 + 1);
}

static int exchange(int rank, int size, long bytes, unsigned char *send, unsigned char *receive)
{
    for (int to = 0; to < size; to++)
        for (long i = 0; i < bytes; i++)
            send[to * bytes + i] = pattern(rank, to, i);
    MPI_Alltoall(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        for (long i = 0; i < bytes; i++)
            if (receive[from * bytes + i] != pattern(from, rank, i)) {
                printf("rank %d: byte %ld of %ld from %d is wrong\n", rank, i, bytes, from);
                return 1;
            }
    return 0;
}

int main(int argc, char **argv)
{
    static const long sizes[] = {1, 64, 1500, 9000, 65536, 1048576};
    int rank, size, wrong = 0, any = 0;
    unsigned char *send, *receive;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    send = malloc(size * sizes[5]);
    receive = malloc(size * sizes[5]);
    if (!send || !receive)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int s = 0; s < 6; s++)
        wrong |= exchange(rank, size, sizes[s], send, receive);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf(any ? "alltoall broken\n" : "alltoall ok\n");
    MPI_Finalize();
    free(send);
    free(receive);
    return any;
}
