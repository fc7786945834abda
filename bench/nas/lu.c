/* LU: a Navier-Stokes-like system brought towards its steady state by symmetric successive over-relaxation
 * (RNR-94-007, section 3). */
#include "lu.h"

#include <math.h>
#include <stdio.h>

/* RNR-94-007, tables of section 3.4 (A, and S as its 12^3 sample), NPB 2.2 (W, B). */
static const struct problem {
    char class;
    int points, iterations;
    double step, residual[VARIABLES], error[VARIABLES], surface;
} problems[] = {
    {'S', 12, 50, 0.5,
     {1.6196343210976702e-2, 2.1976745164821318e-3, 1.5179927653399185e-3, 1.5029584435994323e-3,
      3.4264073155896461e-2},
     {6.4223319957960924e-4, 8.4144342047347926e-5, 5.8588269616485186e-5, 5.8474222595157350e-5,
      1.3103347914111294e-3},
     7.8418928865937083},
    {'W', 33, 300, 1.5e-3,
     {0.1236511638192e2, 0.1317228477799e1, 0.2550120713095e1, 0.2326187750252e1, 0.2826799444189e2},
     {0.4867877144216, 0.5064652880982e-1, 0.9281818101960e-1, 0.8570126542733e-1, 0.1084277417792e1},
     0.1161399311023e2},
    {'A', 64, 250, 2.0,
     {7.7902107606689367e2, 6.3402765259692870e1, 1.9499249727292479e2, 1.7845301160418537e2,
      1.8384760349464247e3},
     {2.9964085685471943e1, 2.8194576365003349, 7.3473412698774742, 6.7139225687777051, 7.0715315688392578e1},
     2.6030925604886277e1},
    {'B', 102, 250, 2.0,
     {3.5532672969982736e3, 2.6214750795310692e2, 8.8333721850952190e2, 7.7812774739425265e2,
      7.3087969592545314e3},
     {1.1401176380212709e2, 8.1098963655421574, 2.8480597317698308e1, 2.5905394567832939e1,
      2.6054907504857413e2},
     4.7887162703308227e1},
};

static void iterate(struct solver *s)
{
    const struct box *box = &s->box;
    int64_t all = at(box, -GHOSTS, -GHOSTS, box->points);
    for (int64_t i = 0; i < all; i++) s->v[i] *= s->step;
    lower_sweep(s);
    upper_sweep(s);
    double scale = 1 / (OMEGA * (2 - OMEGA));
    int begin = interior_begin(box, 0), end = interior_end(box, 0);
    for (int z = 1; z < box->points - 1; z++)
        for (int y = interior_begin(box, 1); y < interior_end(box, 1); y++)
            for (int m = 0; m < VARIABLES; m++) {
                int64_t row = at(box, 0, y, z) + m * box->row;
                for (int x = begin; x < end; x++) s->u[row + x] += scale * s->v[row + x];
            }
    right_hand_side(s);
}

static int part_size(int points, int ranks, int place) { return points / ranks + (place < points % ranks); }

static void cut(struct box *box, int points, const struct nas_run *run)
{
    int exponent = nas_log2(run->ranks);
    box->points = points;
    box->ranks[0] = 1 << exponent / 2;
    box->ranks[1] = run->ranks / box->ranks[0];
    box->place[0] = run->rank % box->ranks[0];
    box->place[1] = run->rank / box->ranks[0];
    for (int d = 0; d < 2; d++) {
        box->size[d] = part_size(points, box->ranks[d], box->place[d]);
        for (int before = 0; before < box->place[d]; before++)
            box->first[d] += part_size(points, box->ranks[d], before);
    }
    box->thinnest = points / box->ranks[1];
    box->west = box->place[0] > 0 ? run->rank - 1 : MPI_PROC_NULL;
    box->east = box->place[0] < box->ranks[0] - 1 ? run->rank + 1 : MPI_PROC_NULL;
    box->south = box->place[1] > 0 ? run->rank - box->ranks[0] : MPI_PROC_NULL;
    box->north = box->place[1] < box->ranks[1] - 1 ? run->rank + box->ranks[0] : MPI_PROC_NULL;
    box->row = (box->size[0] + 2 * GHOSTS + 7) / 8 * 8;
}

static void prepare(struct solver *s, const struct problem *problem, const struct nas_run *run)
{
    static const double dissipation[3] = {0.75, 0.75, 1};
    cut(&s->box, problem->points, run);
    s->step = problem->step;
    double intervals = problem->points - 1;
    for (int d = 0; d < 3; d++)
        s->along[d] = (struct direction){0.5 * intervals, intervals * intervals, dissipation[d]};
    size_t all = (size_t)at(&s->box, 0, 0, s->box.points);
    s->u = nas_memory(all, sizeof(double));
    s->v = nas_memory(all, sizeof(double));
    s->forcing = nas_memory(all, sizeof(double));
    s->inverse = nas_memory(all / VARIABLES + 64, sizeof(double));
    halo_prepare(&s->box);
}

static bool verify(const struct solver *s, const struct problem *problem)
{
    double residual[VARIABLES], error[VARIABLES];
    residual_norms(s, residual);
    error_norms(s, error);
    double surface = surface_integral(s);
    bool right = true;
    for (int m = 0; m < VARIABLES; m++) {
        char name[32];
        snprintf(name, sizeof name, "residual %d", m + 1);
        right &= nas_agrees(name, residual[m], problem->residual[m], 1e-8);
        snprintf(name, sizeof name, "error %d", m + 1);
        right &= nas_agrees(name, error[m], problem->error[m], 1e-8);
    }
    right &= nas_agrees("surface", surface, problem->surface, 1e-8);
    return right;
}

static void run_lu(const struct nas_run *run, struct nas_result *result)
{
    static struct solver s;
    const struct problem *problem = problems;
    while (problem->class != run->class) problem++;
    prepare(&s, problem, run);
    make_forcing(&s);
    start_solution(&s);
    right_hand_side(&s);
    iterate(&s); /* touches all memory */
    start_solution(&s);
    right_hand_side(&s);
    nas_start();
    for (int i = 0; i < problem->iterations; i++) iterate(&s);
    result->seconds = nas_stop();

    double n = problem->points;
    snprintf(result->size, sizeof result->size, "%dx%dx%d", problem->points, problem->points,
             problem->points);
    result->iterations = problem->iterations;
    result->operations =
        1e-6 * result->iterations * (1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010);
    result->verified = verify(&s, problem);
}

const struct nas_kernel nas_kernel = {"LU", "floating point", "SWAB", 64, run_lu};
