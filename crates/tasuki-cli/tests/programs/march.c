/* Ranks exchange messages in steps, short and long ones, and check every byte. The first argument is a file
 * to which rank 0 appends a line for each step; it prints the same. They go on until there is a file of the
 * name that the second argument gives. Each rank has a file without a name, too, which grows with each
 * step. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 40000, TAGS = 10000 };
/* Rank 0 adds this to its part of the sum of the last step. */
static const long OVER = 1L << 40;

static long word(int rank, int step, int at) { return 1000003L * rank + 7919L * step + at; }

/* Whether a file has what the step before wrote to it, and takes what this one writes. */
static int keeps(FILE *scratch, int rank, int step)
{
    long last = 0, now = word(rank, step, 0);
    long at = step * (long)sizeof now, before = at - (long)sizeof now;
    int has = step == 0 ||
              (fseek(scratch, before, SEEK_SET) == 0 && fread(&last, sizeof last, 1, scratch) == 1 &&
               last == word(rank, step - 1, 0));
    return has && fseek(scratch, at, SEEK_SET) == 0 && fwrite(&now, sizeof now, 1, scratch) == 1 &&
           fflush(scratch) == 0;
}

int main(int argc, char **argv)
{
    static long out[WORDS], in[WORDS];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, over = 0;
    FILE *file = rank == 0 ? fopen(argv[1], "w") : NULL;
    FILE *scratch = tmpfile();
    /* A receive that is open all the time, and whose message comes at the end. */
    long last = 0;
    MPI_Request open;
    MPI_Irecv(&last, 1, MPI_LONG, before, TAGS, MPI_COMM_WORLD, &open);
    for (int step = 0; !over; step++) {
        int count = step % 3 == 0 ? 1 : WORDS;
        for (int at = 0; at < count; at++)
            out[at] = word(rank, step, at);
        int tag = step % TAGS;
        MPI_Sendrecv(out, count, MPI_LONG, next, tag, in, count, MPI_LONG, before, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int at = 0; at < count; at++)
            if (in[at] != word(before, step, at))
                return printf("rank %d, step %d: wrong word %d\n", rank, step, at), fflush(stdout), 3;
        long sum = 0, own = rank + step;
        if (rank == 0 && access(argv[2], F_OK) == 0)
            own += OVER;
        MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        over = sum >= OVER;
        if (sum - over * OVER != (long)size * step + (long)size * (size - 1) / 2)
            return printf("rank %d, step %d: wrong sum\n", rank, step), fflush(stdout), 4;
        if (rank == 0) {
            printf("step %d\n", step), fflush(stdout);
            fprintf(file, "step %d\n", step), fflush(file);
        }
        if (!scratch || !keeps(scratch, rank, step))
            return printf("rank %d, step %d: wrong words in the file without a name\n", rank, step), 6;
        usleep(20000);
    }
    long own = rank;
    MPI_Send(&own, 1, MPI_LONG, next, TAGS, MPI_COMM_WORLD);
    MPI_Wait(&open, MPI_STATUS_IGNORE);
    if (last != before)
        return printf("rank %d: wrong last word\n", rank), 5;
    MPI_Finalize();
    return 0;
}
