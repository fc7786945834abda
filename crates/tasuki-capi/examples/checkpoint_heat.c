/*
 * checkpoint_heat SIDE STEPS: heat spreads in a square, cut into strips, one for each process of an MPI. The
 * program saves its state once in a while, and goes on from there when it is started again.
 *
 *     mpicc -O2 checkpoint_heat.c -ltasuki -o checkpoint_heat
 *     TASUKI_CHECKPOINT=/var/tmp/heat tasuki run -n 4 ./checkpoint_heat 2000 10000
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include <tasuki_checkpoint.h>

static void check(int code) {
    if (code < 0) {
        fprintf(stderr, "checkpoint_heat: %s: %s\n", tasuki_strerror(code), tasuki_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* A step: the borders come from the neighbours, then every point takes the mean of its own four. */
static void spread(double *now, double *next, int rows, int side, int rank, int size) {
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double *end = now + (size_t)(rows + 1) * side;
    MPI_Sendrecv(now + side, side, MPI_DOUBLE, above, 0, end, side, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(end - side, side, MPI_DOUBLE, below, 1, now, side, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int row = 1; row <= rows; row++) {
        const double *at = now + (size_t)row * side;
        double *into = next + (size_t)row * side;
        for (int i = 1; i < side - 1; i++)
            into[i] = 0.25 * (at[i - 1] + at[i + 1] + at[i - side] + at[i + side]);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, side = argc > 1 ? atoi(argv[1]) : 0, steps = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (side < 3 || steps < 1 || side < size) {
        fprintf(stderr, "usage: checkpoint_heat SIDE STEPS (a strip for each process)\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int rows = side / size + (rank < side % size);
    size_t bytes = (size_t)(rows + 2) * side * sizeof(double);
    double *now = calloc(1, bytes), *next = calloc(1, bytes);
    if (!now || !next)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 0)
        for (int i = 0; i < side; i++)
            now[i] = next[i] = 1000;

    tasuki_checkpoint *checkpoint;
    int step = 0;
    check(tasuki_checkpoint_open_mpi(MPI_COMM_WORLD, NULL, &checkpoint));
    check(tasuki_checkpoint_add(checkpoint, 0, &step, sizeof step));
    check(tasuki_checkpoint_add(checkpoint, 1, now, bytes));
    int is_restored = tasuki_checkpoint_restore(checkpoint);
    check(is_restored);
    if (is_restored && rank == 0) {
        char notes[2000];
        tasuki_checkpoint_notes(checkpoint, notes, sizeof notes);
        printf("goes on from step %d\n%s%s", step, notes, *notes ? "\n" : "");
        fflush(stdout);
    }
    /* The borders of the other array are those that no step changes. */
    memcpy(next, now, bytes);
    while (step < steps) {
        spread(now, next, rows, side, rank, size);
        step++;
        /* Saved from the array that is registered. */
        memcpy(now, next, bytes);
        int is_due = tasuki_checkpoint_is_due(checkpoint);
        check(is_due);
        if (is_due && tasuki_checkpoint_save(checkpoint) < 0 && rank == 0)
            fprintf(stderr, "checkpoint_heat: goes on without this checkpoint: %s\n", tasuki_last_error());
    }
    double own = 0, all = 0;
    for (int row = 1; row <= rows; row++)
        for (int i = 0; i < side; i++)
            own += now[(size_t)row * side + i] * (row * 7 + i % 13);
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    tasuki_checkpoint_counters counters;
    check(tasuki_checkpoint_count(checkpoint, &counters));
    check(tasuki_checkpoint_finish(checkpoint));
    tasuki_checkpoint_close(checkpoint);
    if (rank == 0)
        printf("heat %.17g, %llu checkpoints in %.3f s\n", all, (unsigned long long)counters.saved,
               (double)counters.all_us / 1e6);
    free(now);
    free(next);
    MPI_Finalize();
    return 0;
}
