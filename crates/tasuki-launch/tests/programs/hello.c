/* Says which rank runs where, then passes a token once round the ring of all ranks. Prints one line per
 * rank (`rank R of N on HOST`), then on rank 0 `ring ok` or the fault; exits 0 only if the token came back
 * with the sum of all ranks. Given an argument, the last rank exits with that code instead. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, right, left;
    long token = 0, expected;
    char host[256] = "";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gethostname(host, sizeof host - 1);
    printf("rank %d of %d on %s\n", rank, size, host);
    fflush(stdout);

    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    expected = (long)size * (size - 1) / 2;
    if (rank == 0)
        MPI_Send(&token, 1, MPI_LONG, right, 7, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_LONG, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) {
        token += rank;
        MPI_Send(&token, 1, MPI_LONG, right, 7, MPI_COMM_WORLD);
    } else {
        printf(token == expected ? "ring ok\n" : "ring broken: %ld\n", token);
    }
    MPI_Finalize();
    if (argc > 1 && rank == size - 1)
        return atoi(argv[1]);
    return rank == 0 && token != expected;
}
