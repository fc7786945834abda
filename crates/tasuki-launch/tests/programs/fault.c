/* Ends in a way of one's choice, to see what the launcher makes of it: the last rank does
 *   exit CODE     MPI_Finalize, then exit(CODE)
 *   quit CODE     exit(CODE) without MPI_Finalize
 *   abort CODE    MPI_Abort(CODE)
 *   kill SIGNAL   raise(SIGNAL)
 * while the others wait for it in MPI_Barrier; `sleep SECONDS` makes every rank sleep. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end(const char *how, int number)
{
    if (!strcmp(how, "quit"))
        exit(number);
    if (!strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, number);
    if (!strcmp(how, "kill"))
        raise(number);
}

int main(int argc, char **argv)
{
    int rank, size, number;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3) {
        fprintf(stderr, "usage: fault exit|quit|abort|kill|sleep NUMBER\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    number = atoi(argv[2]);
    if (!strcmp(argv[1], "sleep")) {
        printf("sleeping\n");
        fflush(stdout);
        sleep(number);
    } else if (rank == size - 1) {
        end(argv[1], number);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return rank == size - 1 && !strcmp(argv[1], "exit") ? number : 0;
}
