/* The last rank computes for ever; the others wait for its message. They say when they begin. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static volatile double sum;

__attribute__((noinline)) static void computes(void)
{
    for (;;)
        sum += 1.0;
}

__attribute__((noinline)) static void waits(int from)
{
    char byte;
    MPI_Recv(&byte, 1, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    puts("received");
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    /* Nothing of it is left if whoever has started it is killed. */
    alarm(300);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    puts("begun");
    fflush(stdout);
    if (rank == size - 1)
        computes();
    else
        waits(size - 1);
    MPI_Finalize();
    return 0;
}
