/* Half the round trip between rank 0 and the last rank, for a few sizes, with the contents checked.
 * Prints `BYTES bytes MICROSECONDS us`; exits 1 on wrong contents. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char pattern(long i, int round) { return (unsigned char)(i * 131 + round * 7 + 3); }

int main(int argc, char **argv)
{
    static const long sizes[] = {8, 1024, 65536, 4194304};
    int rank, size, peer, wrong = 0;
    unsigned char *buffer = malloc(sizes[3]);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || !buffer)
        MPI_Abort(MPI_COMM_WORLD, 2);
    peer = rank == 0 ? size - 1 : 0;
    for (int s = 0; s < 4 && (rank == 0 || rank == size - 1); s++) {
        long bytes = sizes[s];
        int rounds = bytes > 100000 ? 5 : 200;
        double start = MPI_Wtime();
        for (int round = 0; round < rounds; round++) {
            if (rank == 0) {
                for (long i = 0; i < bytes; i++)
                    buffer[i] = pattern(i, round);
                MPI_Send(buffer, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
                MPI_Recv(buffer, (int)bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (long i = 0; i < bytes; i++)
                    wrong |= buffer[i] != (unsigned char)(pattern(i, round) ^ 0xff);
            } else {
                MPI_Recv(buffer, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (long i = 0; i < bytes; i++)
                    buffer[i] ^= 0xff;
                MPI_Send(buffer, (int)bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
            }
        }
        if (rank == 0)
            printf("%ld bytes %.1f us\n", bytes, (MPI_Wtime() - start) / rounds / 2 * 1e6);
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf(wrong ? "pingpong broken\n" : "pingpong ok\n");
    MPI_Finalize();
    free(buffer);
    return wrong;
}
