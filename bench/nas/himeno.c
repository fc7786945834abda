/* Himeno: Jacobi's method for Poisson's equation with a 19-point stencil in single precision, every
 * coefficient from memory. Grid sizes, coefficients, start values and the count of 34 operations per point
 * are those of the Himeno benchmark (R. Himeno, RIKEN). It has no published result to verify against; the
 * exact one is computed here, see expected(). */
#include "himeno.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const float OMEGA = 0.8f;
static const double TOLERANCE = 5e-3; /* of single precision, which is good to 1e-3 for size M */

/* X is the size that Himeno calls XS. The iterations are ours: the original goes on for a minute. */
static const struct problem {
    char class;
    int points[DIRECTIONS], iterations;
} problems[] = {
    {'X', {32, 32, 64}, 500},
    {'S', {64, 64, 128}, 200},
    {'M', {128, 128, 256}, 60},
    {'L', {256, 256, 512}, 20},
};

struct state {
    const struct problem *problem;
    struct box box;
    float *p, *next;            /* pressure, and the next iteration's */
    float *a[4], *b[3], *c[3];  /* coefficients */
    float *bound, *source;
};

/* One iteration; returns this rank's sum of squares of what the equation lacks. */
static double relax(struct state *s)
{
    const struct box *box = &s->box;
    const int64_t row = row_of(box), plane = plane_of(box);
    double all = 0;
    int low[DIRECTIONS], high[DIRECTIONS];
    for (int d = 0; d < DIRECTIONS; d++) {
        low[d] = box->first[d] == 0 ? 1 : 0;
        high[d] = box->size[d] - (box->first[d] + box->size[d] == box->points[d] ? 1 : 0);
    }
    for (int i = low[0]; i < high[0]; i++)
        for (int j = low[1]; j < high[1]; j++) {
            const int64_t start = element_at(box, i, j, 0);
            const float *restrict p = s->p + start, *restrict source = s->source + start,
                                  *restrict bound = s->bound + start;
            const float *restrict a0 = s->a[0] + start, *restrict a1 = s->a[1] + start,
                                  *restrict a2 = s->a[2] + start;
            const float *restrict a3 = s->a[3] + start, *restrict b0 = s->b[0] + start,
                                  *restrict b1 = s->b[1] + start;
            const float *restrict b2 = s->b[2] + start, *restrict c0 = s->c[0] + start,
                                  *restrict c1 = s->c[1] + start;
            const float *restrict c2 = s->c[2] + start;
            float *restrict next = s->next + start, squares = 0;
#pragma omp simd reduction(+ : squares)
            for (int k = low[2]; k < high[2]; k++) {
                float sum =
                    a0[k] * p[k + plane] + a1[k] * p[k + row] + a2[k] * p[k + 1] +
                    b0[k] *
                        (p[k + plane + row] - p[k + plane - row] - p[k - plane + row] + p[k - plane - row]) +
                    b1[k] * (p[k + row + 1] - p[k - row + 1] - p[k + row - 1] + p[k - row - 1]) +
                    b2[k] * (p[k + plane + 1] - p[k - plane + 1] - p[k + plane - 1] + p[k - plane - 1]) +
                    c0[k] * p[k - plane] + c1[k] * p[k - row] + c2[k] * p[k - 1] + source[k];
                float lacking = (sum * a3[k] - p[k]) * bound[k];
                squares += lacking * lacking;
                next[k] = p[k] + OMEGA * lacking;
            }
            all += squares;
        }
    return all;
}

/* Relaxes, fetches the neighbours' faces and returns the sum of squares over all ranks. */
static double iterate(struct state *s)
{
    double mine = relax(s), all;
    float *swap = s->p;
    s->p = s->next;
    s->next = swap;
    halo(&s->box, s->p);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* The sum of squares in the last iteration, and in all together. With the benchmark's coefficients the method
 * is a linear map with the boundary held fast. What the equation lacks at the start is the same at every
 * inner point, 1 / (3 (points - 1)^2), as the start is a square of i; each iteration multiplies its sine
 * waves (a, b, c) by 1 + omega ((cos a' + cos b' + cos c') / 3 - 1), where a' = a pi / (inner points + 1). A
 * constant has the odd waves only, of weight cot(a' / 2). */
static void expected(const struct problem *problem, double *last, double *all)
{
    double *cosine[DIRECTIONS], *weight[DIRECTIONS], scale = 1 / (9 * pow(problem->points[0] - 1, 4));
    int waves[DIRECTIONS];
    for (int d = 0; d < DIRECTIONS; d++) {
        int intervals = problem->points[d] - 1;
        waves[d] = intervals / 2;
        cosine[d] = nas_memory((size_t)waves[d] + 1, sizeof(double));
        weight[d] = nas_memory((size_t)waves[d] + 1, sizeof(double));
        for (int w = 0; w < waves[d]; w++) {
            double angle = (2 * w + 1) * 3.14159265358979323846 / intervals;
            cosine[d][w] = cos(angle);
            weight[d][w] = 2 / (intervals * tan(angle / 2) * tan(angle / 2));
        }
    }
    for (int a = 0; a < waves[0]; a++)
        for (int b = 0; b < waves[1]; b++)
            for (int c = 0; c < waves[2]; c++) {
                double factor = 1 + 0.8 * ((cosine[0][a] + cosine[1][b] + cosine[2][c]) / 3 - 1);
                double square = factor * factor, power = pow(square, problem->iterations - 1);
                double wave = scale * weight[0][a] * weight[1][b] * weight[2][c];
                *last += wave * power;
                *all += wave * (1 - power * square) / (1 - square);
            }
    for (int d = 0; d < DIRECTIONS; d++) free(cosine[d]), free(weight[d]);
}

static void fill(const struct state *s, float *array, float value)
{
    for (int64_t i = 0; i < elements_of(&s->box); i++) array[i] = value;
}

static void start(struct state *s)
{
    const struct box *box = &s->box;
    float last = (float)(box->points[0] - 1);
    for (int i = -1; i <= box->size[0]; i++) {
        float place = (float)(box->first[0] + i), value = place * place / (last * last);
        for (int64_t at = element_at(box, i, -1, -1); at < element_at(box, i + 1, -1, -1); at++)
            s->p[at] = s->next[at] = value;
    }
}

static void cut(struct box *box, const struct problem *problem, const struct nas_run *run)
{
    int exponent = nas_log2(run->ranks);
    for (int d = 0; d < DIRECTIONS; d++) {
        box->points[d] = problem->points[d];
        box->ranks[d] = 1 << (exponent + 2 - d) / 3;
    }
    int step[DIRECTIONS] = {box->ranks[1] * box->ranks[2], box->ranks[2], 1};
    for (int d = 0; d < DIRECTIONS; d++) {
        box->place[d] = run->rank / step[d] % box->ranks[d];
        box->size[d] = box->points[d] / box->ranks[d];
        box->first[d] = box->place[d] * box->size[d];
        box->below[d] = box->place[d] ? run->rank - step[d] : MPI_PROC_NULL;
        box->above[d] = box->place[d] < box->ranks[d] - 1 ? run->rank + step[d] : MPI_PROC_NULL;
    }
}

static void prepare(struct state *s, const struct nas_run *run)
{
    s->problem = problems;
    while (s->problem->class != run->class) s->problem++;
    cut(&s->box, s->problem, run);
    const struct {
        float **array, value;
    } all[] = {
        {&s->p, 0},    {&s->next, 0}, {&s->source, 0},      {&s->bound, 1}, {&s->a[0], 1},
        {&s->a[1], 1}, {&s->a[2], 1}, {&s->a[3], 1.0f / 6}, {&s->b[0], 0},  {&s->b[1], 0},
        {&s->b[2], 0}, {&s->c[0], 1}, {&s->c[1], 1},        {&s->c[2], 1},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].array = nas_memory((size_t)elements_of(&s->box), sizeof(float));
        fill(s, *all[i].array, all[i].value);
    }
    halo_prepare(&s->box);
}

static void run_himeno(const struct nas_run *run, struct nas_result *result)
{
    static struct state s;
    prepare(&s, run);
    const struct problem *problem = s.problem;
    start(&s);
    iterate(&s); /* touches all memory */
    start(&s);
    double last = 0, all = 0, exact_last = 0, exact_all = 0;
    nas_start();
    for (int i = 0; i < problem->iterations; i++) all += last = iterate(&s);
    result->seconds = nas_stop();

    const int *n = problem->points;
    snprintf(result->size, sizeof result->size, "%dx%dx%d", n[0], n[1], n[2]);
    result->iterations = problem->iterations;
    result->operations = 34e-6 * result->iterations * (double)(n[0] - 2) * (n[1] - 2) * (n[2] - 2);
    expected(problem, &exact_last, &exact_all);
    result->verified = nas_agrees("gosa, last", last, exact_last, TOLERANCE);
    result->verified &= nas_agrees("gosa, sum", all, exact_all, TOLERANCE);
}

const struct nas_kernel nas_kernel = {"HIMENO", "floating point (single)", "XSML", 64, run_himeno};
