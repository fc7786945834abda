/* Ranks that wait in MPI. Without an argument: for ever, after "all here". "leave": rank 1 exits with code 0 between
 * MPI_Init and MPI_Finalize. "sum": sums are made and checked until SIGUSR1 has come to rank 0. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void tell(int signal) {
    (void)signal;
    told = 1;
}

int main(int argc, char **argv) {
    int rank, size;
    const char *what = argc > 1 ? argv[1] : "";
    signal(SIGUSR1, tell);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("all here\n");
        fflush(stdout);
    }
    if (strcmp(what, "leave") == 0 && rank == 1)
        _exit(0);
    long turn = 0;
    int last = 0;
    while (strcmp(what, "sum") == 0 && !last) {
        long mine[2] = {rank == 0 && told, turn * (rank + 1)}, all[2];
        MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (all[1] != turn * size * (size + 1) / 2) {
            printf("WRONG sum %ld in turn %ld\n", all[1], turn);
            MPI_Abort(MPI_COMM_WORLD, 9);
        }
        turn++;
        last = all[0] > 0;
    }
    if (strcmp(what, "sum") == 0) {
        if (rank == 0)
            printf("%ld sums right\n", turn);
        MPI_Finalize();
        return 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (;;)
        pause();
}
