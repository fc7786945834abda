/* Ranks whose numbers are in the argument ("02": 0 and 2) write to the address 0. The others wait for them in
 * MPI_Barrier. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static void crashes(void)
{
    *(volatile int *)0 = 1;
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && strchr(argv[1], '0' + rank))
        crashes();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
