/* MG: V-cycles of multigrid for a Poisson equation (RNR-94-007, section 2.4). */
#include "mg.h"

#include <math.h>
#include <stdio.h>

enum { MOST_LEVELS = 9 };

/* Iterations and final norms: RNR-94-007, section 2.4.3 (A; S is its sample), NPB 2.2 (B) and 3.0 (W). NPB
 * 2's class W, 40 iterations on 64^3, ends at 2.5e-18: rounding errors, which no other order of operations
 * reproduces. */
static const struct problem {
    char class;
    int side_log2, iterations;
    double norm;
    double smoother[4];
} problems[] = {
    {'S', 5, 4, 0.5307707005734e-4, {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}},
    {'W', 7, 4, 0.6467329375339e-5, {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}},
    {'A', 8, 4, 0.2433365309069e-5, {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}},
    {'B', 8, 20, 0.1800564401355e-5, {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0}},
};

struct state {
    const struct problem *problem;
    struct ranks ranks;
    int top;                            /* level of the finest grid; level 1 has two points a side */
    int first_cut;                      /* coarsest level that is cut into boxes */
    struct grid grids[MOST_LEVELS];
    double *v;
    double *part, *parts;               /* of the finest whole grid: this rank's box, and all boxes */
};

/* The box of the coarser grid that lies under this rank's box of a cut one. */
static void box_under(const struct state *s, int level, int size[3], int first[3])
{
    for (int d = 0; d < 3; d++) {
        size[d] = s->grids[level].size[d] / 2;
        first[d] = s->grids[level - 1].whole && !s->grids[level].whole ? s->ranks.place[d] * size[d] : 0;
    }
}

/* Boxes of all ranks into the whole grid. Rank numbers count x fastest. */
static void assemble(struct state *s, int level, const int size[3])
{
    struct grid *coarse = &s->grids[level - 1];
    int points = size[0] * size[1] * size[2],
        ranks = s->ranks.count[0] * s->ranks.count[1] * s->ranks.count[2];
    MPI_Allgather(s->part, points, MPI_DOUBLE, s->parts, points, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int rank = 0; rank < ranks; rank++) {
        int x0 = rank % s->ranks.count[2] * size[2];
        int y0 = rank / s->ranks.count[2] % s->ranks.count[1] * size[1];
        int z0 = rank / s->ranks.count[2] / s->ranks.count[1] * size[0];
        const double *from = s->parts + (int64_t)rank * points;
        for (int z = 0; z < size[0]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[2]; x++)
                    coarse->r[grid_at(coarse, z0 + z, y0 + y, x0 + x)] = *from++;
    }
}

static void go_down(struct state *s, int level)
{
    struct grid *fine = &s->grids[level], *coarse = &s->grids[level - 1];
    if (coarse->whole && !fine->whole) {
        int size[3], first[3];
        box_under(s, level, size, first);
        restrict_to(fine, fine->r, s->part, size[2], size[2] * size[1]);
        assemble(s, level, size);
    } else {
        restrict_to(fine, fine->r, coarse->r + grid_at(coarse, 0, 0, 0), grid_row(coarse),
                    grid_plane(coarse));
    }
    halo(coarse, level == 2 ? BOTH : HIGH, coarse->r);
}

static void go_up(struct state *s, int level)
{
    struct grid *fine = &s->grids[level], *coarse = &s->grids[level - 1];
    int size[3], first[3];
    bool top = level == s->top;
    box_under(s, level, size, first);
    interpolate(fine, coarse->u + grid_at(coarse, first[0], first[1], first[2]), grid_row(coarse),
                grid_plane(coarse), fine->u, !top);
    residual(fine, top ? s->v : fine->r, fine->u, fine->r);
    halo(fine, BOTH, fine->r);
    smooth(fine, s->problem->smoother, fine->r, fine->u, false);
    halo(fine, BOTH, fine->u);
}

static void cycle(struct state *s)
{
    struct grid *lowest = &s->grids[1], *finest = &s->grids[s->top];
    for (int level = s->top; level > 1; level--) go_down(s, level);
    smooth(lowest, s->problem->smoother, lowest->r, lowest->u, true);
    halo(lowest, BOTH, lowest->u);
    for (int level = 2; level <= s->top; level++) go_up(s, level);
    residual(finest, s->v, finest->u, finest->r);
    halo(finest, HIGH, finest->r);
}

static void start_over(struct state *s)
{
    struct grid *finest = &s->grids[s->top];
    for (int64_t i = 0; i < grid_elements(finest); i++) finest->u[i] = 0;
}

static double norm(const struct state *s)
{
    const struct grid *grid = &s->grids[s->top];
    double mine = 0, all, points = pow(grid->side, 3);
    for (int z = 0; z < grid->size[0]; z++)
        for (int y = 0; y < grid->size[1]; y++) {
            const double *row = grid->r + grid_at(grid, z, y, 0);
#pragma omp simd reduction(+ : mine)
            for (int x = 0; x < grid->size[2]; x++) mine += row[x] * row[x];
        }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all / points);
}

/* Cuts z first, then y, then x. */
static void arrange_ranks(struct ranks *ranks, const struct nas_run *run)
{
    int exponent = nas_log2(run->ranks);
    for (int d = 0; d < 3; d++) ranks->count[d] = 1 << (exponent + 2 - d) / 3;
    int step[3] = {ranks->count[1] * ranks->count[2], ranks->count[2], 1};
    for (int d = 0; d < 3; d++) {
        int count = ranks->count[d], place = ranks->place[d] = run->rank / step[d] % count;
        ranks->below[d] = run->rank + ((place + count - 1) % count - place) * step[d];
        ranks->above[d] = run->rank + ((place + 1) % count - place) * step[d];
    }
}

static void prepare(struct state *s, const struct nas_run *run)
{
    s->problem = problems;
    while (s->problem->class != run->class) s->problem++;
    arrange_ranks(&s->ranks, run);
    s->top = s->problem->side_log2;
    for (int level = s->top; level > 0; level--) {
        struct grid *grid = &s->grids[level];
        grid->side = 1 << level;
        /* Two points a side at least, so that there is one on the grid below. Directions are cut most in
         * z. */
        grid->whole = run->ranks > 1 && grid->side / s->ranks.count[0] < 2;
        for (int d = 0; d < 3; d++) grid->size[d] = grid->whole ? grid->side : grid->side / s->ranks.count[d];
        grid->u = nas_memory((size_t)grid_elements(grid), sizeof(double));
        grid->r = nas_memory((size_t)grid_elements(grid), sizeof(double));
        if (!grid->whole) s->first_cut = level;
    }
    if (s->first_cut > 1) {
        size_t points = (size_t)1 << 3 * (s->first_cut - 1);
        s->part = nas_memory(points, sizeof(double));
        s->parts = nas_memory(points, sizeof(double));
    }
    struct grid *finest = &s->grids[s->top];
    s->v = nas_memory((size_t)grid_elements(finest), sizeof(double));
    halo_prepare(finest, &s->ranks);
    place_charges(finest, &s->ranks, s->v);
}

static void begin(struct state *s)
{
    struct grid *finest = &s->grids[s->top];
    residual(finest, s->v, finest->u, finest->r);
    halo(finest, HIGH, finest->r);
}

static void run_mg(const struct nas_run *run, struct nas_result *result)
{
    static struct state s;
    prepare(&s, run);
    begin(&s);
    cycle(&s); /* touches all memory */
    start_over(&s);
    nas_start();
    begin(&s);
    for (int i = 0; i < s.problem->iterations; i++) cycle(&s);
    double last = norm(&s);
    result->seconds = nas_stop();

    int side = 1 << s.top;
    snprintf(result->size, sizeof result->size, "%dx%dx%d", side, side, side);
    result->iterations = s.problem->iterations;
    result->operations = 58e-6 * result->iterations * pow(side, 3);
    result->verified = nas_agrees("L2 norm", last, s.problem->norm, 1e-8);
}

const struct nas_kernel nas_kernel = {"MG", "floating point", "SWAB", 64, run_mg};
