/* How long an MPI program takes to start: says when the ranks came to main, when the last of them had left
 * MPI_Init, and when everyone had heard from everyone (an MPI connects two ranks when they first speak).
 * Times are those of CLOCK_MONOTONIC, which all hosts of a lab share with whoever started the program. */
#define _POSIX_C_SOURCE 199309L
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { MAIN, INITIALISED, MET, TIMES };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A message to every other rank and one from it, in an order in which nobody is asked by two at once. */
static int meet_everyone(int rank, int ranks)
{
    int wrong = 0;
    for (int step = 1; step < ranks; step++) {
        int to = (rank + step) % ranks, from = (rank - step + ranks) % ranks, heard = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &heard, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        wrong += heard != from;
    }
    return wrong;
}

int main(int count, char **words)
{
    double times[TIMES] = {now()}, first[TIMES], last[TIMES];
    int rank, ranks;
    MPI_Init(&count, &words);
    times[INITIALISED] = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int wrong = meet_everyone(rank, ranks), all_wrong = 0;
    times[MET] = now();
    MPI_Reduce(times, first, TIMES, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(times, last, TIMES, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("startup ranks=%d wrong=%d first=%.6f main=%.6f initialised=%.6f met=%.6f\n", ranks, all_wrong,
               first[MAIN], last[MAIN], last[INITIALISED], last[MET]);
        fflush(stdout);
    }
    MPI_Finalize();
    return all_wrong ? 3 : 0;
}
