/* A small parallel program: Jacobi relaxation of the heat equation on a square, in two dimensions of ranks.
 *
 * Every sweep exchanges halos with up to four neighbours; every tenth sweep adds up a residual over all
 * ranks. The message size is that of one row of the whole grid (8 bytes per point), cut among the ranks of a
 * row.
 *
 * It is checked against theory. On an N x N grid with zero boundary, sin(a pi x) sin(b pi y) is an
 * eigenvector of the sweep with eigenvalue (cos(a pi h) + cos(b pi h)) / 2, h = 1 / (N + 1). The start is a
 * sum of three such modes, unlike in x and y, so that every point of every rank, and the residual, are known
 * after any number of sweeps. The mode (1,1) must be one of them: it decays slowest, rounding errors feed it,
 * and without it they would outgrow the solution. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODES = 3, RESIDUAL_EVERY = 10 };
static const double PI = 3.14159265358979323846;
static const struct { int a, b; double amplitude; } modes[MODES] = {{1, 1, 1.0}, {1, 2, 0.5}, {3, 1, 0.25}};

struct heat_state {
    MPI_Comm grid;
    MPI_Datatype column;
    int up, down, left, right;   /* neighbours, or MPI_PROC_NULL */
    int dims[2];
    long n;                      /* points along a side of the whole grid */
    long rows, columns;          /* of this rank */
    long row0, column0;          /* of this rank's first point, counted from 1 */
    double *old, *new, *start;   /* (rows + 2) x (columns + 2), halo included */
    int round, corrupt;
    long sweeps;                 /* since the start */
    long residual_sweep;         /* sweeps before the one that `residual` belongs to; -1: none */
    double residual;
};

static size_t at(const struct heat_state *s, long row, long column) {
    return (size_t)row * (size_t)(s->columns + 2) + (size_t)column;
}

/* 1 - eigenvalue, without cancellation: 1 - cos x = 2 sin^2(x / 2). */
static double decay(const struct heat_state *s, int mode) {
    double h = PI / (double)(s->n + 1) / 2;
    double a = sin(modes[mode].a * h), b = sin(modes[mode].b * h);
    return a * a + b * b;
}

static double amplitude(const struct heat_state *s, int mode, long sweeps) {
    return (1 + s->round) * modes[mode].amplitude * exp((double)sweeps * log1p(-decay(s, mode)));
}

/* This rank's share [first, first + count) of n points along one dimension, as even as can be. */
static void share(long n, int parts, int part, long *first, long *count) {
    *first = n * part / parts;
    *count = n * (part + 1) / parts - *first;
}

static void heat_release(void *p) {
    struct heat_state *s = p;
    free(s->old);
    free(s->new);
    free(s->start);
    MPI_Type_free(&s->column);
    MPI_Comm_free(&s->grid);
    free(s);
}

static void *heat_prepare(const struct run *run, MPI_Comm comm, size_t bytes) {
    struct heat_state *s = calloc(1, sizeof *s);
    int periodic[2] = {0, 0}, where[2];
    size_t points;
    if (!s)
        return NULL;
    s->n = (long)(bytes / sizeof(double));
    s->corrupt = run->rank == run->corrupt_rank;
    MPI_Dims_create(run->ranks, 2, s->dims);
    MPI_Cart_create(comm, 2, s->dims, periodic, 0, &s->grid);
    MPI_Cart_coords(s->grid, run->rank, 2, where);
    MPI_Cart_shift(s->grid, 0, 1, &s->up, &s->down);
    MPI_Cart_shift(s->grid, 1, 1, &s->left, &s->right);
    share(s->n, s->dims[0], where[0], &s->row0, &s->rows);
    share(s->n, s->dims[1], where[1], &s->column0, &s->columns);
    s->row0++, s->column0++;
    MPI_Type_vector((int)s->rows, 1, (int)s->columns + 2, MPI_DOUBLE, &s->column);
    MPI_Type_commit(&s->column);
    points = (size_t)(s->rows + 2) * (size_t)(s->columns + 2);
    s->old = calloc(points, sizeof(double));
    s->new = calloc(points, sizeof(double));
    s->start = calloc(points, sizeof(double));
    if (!s->old || !s->new || !s->start) {
        heat_release(s);
        return NULL;
    }
    return s;
}

/* The exact solution after `sweeps`, into `to`; the halo and the boundary stay as they are. */
static void solution(const struct heat_state *s, long sweeps, double *to) {
    double h = PI / (double)(s->n + 1), factor[MODES];
    for (int m = 0; m < MODES; m++)
        factor[m] = amplitude(s, m, sweeps);
    for (long i = 1; i <= s->rows; i++) {
        double x = (double)(s->row0 + i - 1) * h, in_x[MODES];
        for (int m = 0; m < MODES; m++)
            in_x[m] = factor[m] * sin(modes[m].a * x);
        for (long j = 1; j <= s->columns; j++) {
            double y = (double)(s->column0 + j - 1) * h, sum = 0;
            for (int m = 0; m < MODES; m++)
                sum += in_x[m] * sin(modes[m].b * y);
            to[at(s, i, j)] = sum;
        }
    }
}

static void heat_restart(void *p) {
    struct heat_state *s = p;
    size_t bytes = (size_t)(s->rows + 2) * (size_t)(s->columns + 2) * sizeof(double);
    memcpy(s->old, s->start, bytes);
    memset(s->new, 0, bytes);
    s->sweeps = 0;
    s->residual_sweep = -1;
}

static void heat_fill(void *p, int round) {
    struct heat_state *s = p;
    s->round = round;
    solution(s, 0, s->start);
    if (s->corrupt)
        s->start[at(s, 1, 1)] += 0.125;
    heat_restart(s);
}

static void exchange_halos(struct heat_state *s) {
    MPI_Request r[8];
    int row = (int)s->columns;
    double *u = s->old;
    MPI_Irecv(&u[at(s, 0, 1)], row, MPI_DOUBLE, s->up, 0, s->grid, &r[0]);
    MPI_Irecv(&u[at(s, s->rows + 1, 1)], row, MPI_DOUBLE, s->down, 1, s->grid, &r[1]);
    MPI_Irecv(&u[at(s, 1, 0)], 1, s->column, s->left, 2, s->grid, &r[2]);
    MPI_Irecv(&u[at(s, 1, s->columns + 1)], 1, s->column, s->right, 3, s->grid, &r[3]);
    MPI_Isend(&u[at(s, s->rows, 1)], row, MPI_DOUBLE, s->down, 0, s->grid, &r[4]);
    MPI_Isend(&u[at(s, 1, 1)], row, MPI_DOUBLE, s->up, 1, s->grid, &r[5]);
    MPI_Isend(&u[at(s, 1, s->columns)], 1, s->column, s->right, 2, s->grid, &r[6]);
    MPI_Isend(&u[at(s, 1, 1)], 1, s->column, s->left, 3, s->grid, &r[7]);
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

static void relax(struct heat_state *s) {
    long width = s->columns + 2;
    for (long i = 1; i <= s->rows; i++) {
        const double *here = s->old + i * width;
        double *to = s->new + i * width;
        for (long j = 1; j <= s->columns; j++)
            to[j] = 0.25 * (here[j - width] + here[j + width] + here[j - 1] + here[j + 1]);
    }
}

/* The 2-norm of what the sweep changed, over all ranks. */
static double residual(const struct heat_state *s) {
    double mine = 0, all;
    for (long i = 1; i <= s->rows; i++)
        for (long j = 1; j <= s->columns; j++) {
            double change = s->new[at(s, i, j)] - s->old[at(s, i, j)];
            mine += change * change;
        }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, s->grid);
    return sqrt(all);
}

static void heat_run(void *p, long count) {
    struct heat_state *s = p;
    for (long i = 0; i < count; i++) {
        double *swap;
        exchange_halos(s);
        relax(s);
        if (s->sweeps % RESIDUAL_EVERY == 0) {
            s->residual = residual(s);
            s->residual_sweep = s->sweeps;
        }
        swap = s->old;
        s->old = s->new;
        s->new = swap;
        s->sweeps++;
    }
}

/* The modes are orthogonal, and the squares of one add up to (N + 1)^2 / 4. */
static int check_residual(const struct heat_state *s, char *why, size_t room) {
    double sum = 0, expected;
    for (int m = 0; m < MODES; m++) {
        double change = amplitude(s, m, s->residual_sweep) * decay(s, m);
        sum += change * change;
    }
    expected = sqrt(sum) * (double)(s->n + 1) / 2;
    if (fabs(s->residual - expected) <= 1e-7 * expected)
        return 1;
    snprintf(why, room, "the residual of sweep %ld is %.12g, should be %.12g", s->residual_sweep, s->residual,
             expected);
    return 0;
}

static int heat_check(void *p, char *why, size_t room) {
    struct heat_state *s = p;
    /* A rounding error of each sweep, relative to what is left of the slowest mode. */
    double tolerance = 1e-14 * (double)(s->sweeps + 100) * amplitude(s, 0, s->sweeps);
    solution(s, s->sweeps, s->new);
    for (long i = 1; i <= s->rows; i++)
        for (long j = 1; j <= s->columns; j++) {
            double is = s->old[at(s, i, j)], should = s->new[at(s, i, j)];
            if (!(fabs(is - should) <= tolerance)) {
                snprintf(why, room, "point (%ld, %ld) after %ld sweeps is %.17g, should be %.17g",
                         s->row0 + i - 1, s->column0 + j - 1, s->sweeps, is, should);
                return 0;
            }
        }
    return s->residual_sweep < 0 || check_residual(s, why, room);
}

static double heat_operations(const void *p) {
    (void)p;
    return 1;
}

/* Halos: every border between two ranks is crossed by a row's or column's worth of points both ways. */
static double heat_moved(const void *p) {
    const struct heat_state *s = p;
    return 2.0 * (double)(s->dims[0] - 1 + s->dims[1] - 1) * (double)s->n * sizeof(double);
}

/* Stops long before the solution leaves the range of normal numbers, which would be slow to compute with. */
static long heat_most(const void *p) {
    return 1 + (long)(200 / -log1p(-decay(p, 0)));
}

const struct test test_heat = {
    .name = "heat",
    .minimum = 8 * sizeof(double),
    .multiple = sizeof(double),
    .minimum_per_rank = sizeof(double),
    .verifies = "every point and the residual against the exact solution",
    .prepare = heat_prepare,
    .fill = heat_fill,
    .restart = heat_restart,
    .run = heat_run,
    .check = heat_check,
    .release = heat_release,
    .operations = heat_operations,
    .moved = heat_moved,
    .most = heat_most,
};
