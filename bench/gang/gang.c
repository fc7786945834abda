/* gang ROUNDS MICROSECONDS: so many rounds of computing for so long (processor time) on every rank and an
 * all-reduce of 8 bytes, whose result is checked. Rank 0 prints the seconds that the rounds took. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t used(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long rounds = argc > 1 ? atol(argv[1]) : 1000, micros = argc > 2 ? atol(argv[2]) : 0;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int64_t round = 0; round < rounds; round++) {
        for (int64_t until = used() + micros * 1000; micros && used() < until;)
            ;
        int64_t own = round + rank, sum = 0;
        MPI_Allreduce(&own, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (sum != round * ranks + (int64_t)ranks * (ranks - 1) / 2) {
            fprintf(stderr, "rank %d: round %ld: wrong sum\n", rank, (long)round);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    if (rank == 0)
        printf("%.3f\n", MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}
