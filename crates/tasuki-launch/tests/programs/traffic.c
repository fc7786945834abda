/* Every rank sends to the next one until it is killed: something for `tasuki stats` to look at. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const int bytes = 100000;
    int rank, size;
    char *out = calloc(1, bytes), *in = malloc(bytes);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long round = 0; out && in; round++) {
        MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 1, in, bytes, MPI_BYTE,
                     (rank + size - 1) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0 && round == 0) {
            printf("running\n");
            fflush(stdout);
        }
    }
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}
