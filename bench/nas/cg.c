/* CG: the largest eigenvalue of a sparse matrix by inverse iteration, each step solved with 25 steps of
 * conjugate gradients (RNR-94-007, section 2.5). */
#include "cg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 25, TAG = 7 };

/* The reports ask for zeta alone. But inverse iteration forgets a wrong solve if enough steps follow; the
 * solve's own residual shows it. A sound one is below 1e-12 in all classes. */
static const double RESIDUAL = 1e-10;

/* RNR-94-007, table of section 2.5.4 (A, and S as its sample), NPB 2.2 (W, B). */
static const struct problem problems[] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648},
    {'W', 7000, 8, 15, 12, 10.362595087124},
    {'A', 14000, 11, 15, 20, 17.130235054029},
    {'B', 75000, 13, 75, 60, 22.712745482631},
};

struct state {
    const struct problem *problem;
    int rank, rows, columns;        /* of the grid of ranks */
    int row, column;                /* this rank's place in it */
    int chunk;                      /* elements of a vector that each rank holds; zeros beyond the order */
    struct block block;
    double *gathered;               /* `rows` chunks: the vector over the block's columns */
    double *product;                /* `columns` chunks: over the block's rows */
    double *incoming;
    double *x, *z, *p, *q, *r;      /* one chunk each */
};

static void exchange(const double *out, int out_count, int to, double *in, int in_count, int from)
{
    MPI_Request requests[2];
    MPI_Irecv(in, in_count, MPI_DOUBLE, from, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, out_count, MPI_DOUBLE, to, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Every rank of a column of the grid needs the chunks column * rows + 0 .. rows - 1. The one numbered with
 * its own row is fetched, the others come from the ranks above and below, doubling what is there at each
 * step. */
static void gather(struct state *s, const double *mine)
{
    int chunk = s->chunk;
    int from = s->column * s->rows + s->row, to = s->rank % s->rows * s->columns + s->rank / s->rows;
    double *slot = s->gathered + s->row * chunk;
    if (from == s->rank) memcpy(slot, mine, (size_t)chunk * sizeof *slot);
    else exchange(mine, chunk, to, slot, chunk, from);
    for (int have = 1; have < s->rows; have *= 2) {
        int first = s->row / have * have, other = first ^ have;
        exchange(s->gathered + first * chunk, have * chunk, (s->row ^ have) * s->columns + s->column,
                 s->gathered + other * chunk, have * chunk, (s->row ^ have) * s->columns + s->column);
    }
}

/* Adds up the products of a row of the grid, halving at each step what is still of interest; this rank's
 * chunk of the sum goes to `mine`. */
static void scatter_sum(struct state *s, double *mine)
{
    int chunk = s->chunk, first = 0;
    for (int half = s->columns / 2; half; half /= 2) {
        bool upper = s->column & half;
        int keep = first + (upper ? half : 0), give = first + (upper ? 0 : half);
        int partner = s->row * s->columns + (s->column ^ half);
        exchange(s->product + give * chunk, half * chunk, partner, s->incoming, half * chunk, partner);
        double *kept = s->product + keep * chunk;
        for (int i = 0; i < half * chunk; i++) kept[i] += s->incoming[i];
        first = keep;
    }
    memcpy(mine, s->product + first * chunk, (size_t)chunk * sizeof *mine);
}

/* The compiler may add up in any order (build.sh): told so by a pragma here, it keeps its partial sums in
 * memory (GCC 12). */
#define MULTIPLY(name, type, list)                                                                  \
    static void name(const struct block *block, const double *restrict x, double *restrict y)      \
    {                                                                                               \
        const double *restrict value = block->value;                                                \
        const type *restrict column = block->list;                                                  \
        for (int row = 0; row < block->rows; row++) {                                               \
            double sum = 0;                                                                         \
            int64_t end = block->start[row + 1];                                                    \
            for (int64_t i = block->start[row]; i < end; i++) sum += value[i] * x[column[i]];       \
            y[row] = sum;                                                                           \
        }                                                                                           \
    }
MULTIPLY(multiply_narrow, uint16_t, narrow)
MULTIPLY(multiply_wide, int32_t, wide)

/* y = A x, chunk by chunk. */
static void multiply(struct state *s, const double *x, double *y)
{
    gather(s, x);
    double *product = s->columns > 1 ? s->product : y;
    if (s->block.narrow) multiply_narrow(&s->block, s->gathered, product);
    else multiply_wide(&s->block, s->gathered, product);
    if (s->columns > 1) scatter_sum(s, y);
}

static double sum_of_all(double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static double dot(const struct state *s, const double *a, const double *b)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < s->chunk; i++) sum += a[i] * b[i];
    return sum_of_all(sum);
}

/* z, r <- z + alpha p, r - alpha q; returns the new r.r */
static double advance(struct state *s, double alpha)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < s->chunk; i++) {
        s->z[i] += alpha * s->p[i];
        double r = s->r[i] -= alpha * s->q[i];
        sum += r * r;
    }
    return sum_of_all(sum);
}

/* A z = x, approximately; returns the norm of the residual x - A z. */
static double solve(struct state *s)
{
    size_t bytes = (size_t)s->chunk * sizeof(double);
    memset(s->z, 0, bytes);
    memcpy(s->r, s->x, bytes);
    memcpy(s->p, s->x, bytes);
    double rho = dot(s, s->r, s->r);
    for (int step = 0; step < STEPS; step++) {
        multiply(s, s->p, s->q);
        double alpha = rho / dot(s, s->p, s->q);
        double before = rho;
        rho = advance(s, alpha);
        double beta = rho / before;
        for (int i = 0; i < s->chunk; i++) s->p[i] = s->r[i] + beta * s->p[i];
    }
    multiply(s, s->z, s->q);
    double sum = 0;
    for (int i = 0; i < s->chunk; i++) sum += (s->x[i] - s->q[i]) * (s->x[i] - s->q[i]);
    return sqrt(sum_of_all(sum));
}

static double power_step(struct state *s, double *residual)
{
    *residual = solve(s);
    double zeta = s->problem->shift + 1 / dot(s, s->x, s->z);
    double scale = 1 / sqrt(dot(s, s->z, s->z));
    for (int i = 0; i < s->chunk; i++) s->x[i] = scale * s->z[i];
    return zeta;
}

static void start_vector(struct state *s)
{
    for (int i = 0; i < s->chunk; i++) s->x[i] = s->rank * s->chunk + i < s->problem->order ? 1 : 0;
}

static void prepare(struct state *s, const struct nas_run *run)
{
    s->problem = problems;
    while (s->problem->class != run->class) s->problem++;
    s->rank = run->rank;
    s->rows = 1 << nas_log2(run->ranks) / 2;
    s->columns = run->ranks / s->rows;
    s->row = run->rank / s->columns;
    s->column = run->rank % s->columns;
    s->chunk = (s->problem->order + run->ranks - 1) / run->ranks;
    int height = s->columns * s->chunk, width = s->rows * s->chunk;
    make_block(s->problem, s->row * height, height, s->column * width, width, &s->block);
    s->gathered = nas_memory((size_t)width, sizeof(double));
    s->product = nas_memory((size_t)height, sizeof(double));
    s->incoming = nas_memory((size_t)height, sizeof(double));
    double **chunks[] = {&s->x, &s->z, &s->p, &s->q, &s->r};
    for (int i = 0; i < 5; i++) *chunks[i] = nas_memory((size_t)s->chunk, sizeof(double));
}

static void run_cg(const struct nas_run *run, struct nas_result *result)
{
    static struct state s;
    prepare(&s, run);
    double zeta = 0, residual;
    bool solved = true;
    start_vector(&s);
    power_step(&s, &residual); /* touches all memory */
    start_vector(&s);
    nas_start();
    for (int i = 0; i < s.problem->iterations; i++) {
        zeta = power_step(&s, &residual);
        solved &= residual <= RESIDUAL;
        if (i == 0 || i == s.problem->iterations - 1)
            nas_say(" %4d  residual %12.5e  zeta %20.13f\n", i + 1, residual, zeta);
    }
    result->seconds = nas_stop();

    double order = s.problem->order, products = s.problem->nonzeros * (s.problem->nonzeros + 1);
    snprintf(result->size, sizeof result->size, "%d", s.problem->order);
    result->iterations = s.problem->iterations;
    result->operations = 1e-6 * 2 * result->iterations * order * (3 + products + STEPS * (5 + products) + 3);
    if (!solved) nas_say(" a residual above %.0e: FAILURE\n", RESIDUAL);
    result->verified = nas_agrees("zeta", zeta, s.problem->zeta, 1e-10) && solved;
}

const struct nas_kernel nas_kernel = {"CG", "floating point", "SWAB", 64, run_cg};
