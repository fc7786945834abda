/* LU's exact solution, start, norms and surface integral (RNR-94-007, sections 3.2 and 3.3). */
#include "lu.h"

#include <math.h>
#include <string.h>

/* Coefficients of 1, then of x, y, z, their squares, cubes and fourth powers. */
static const double coefficients[VARIABLES][13] = {
    {2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

void exact(const struct box *box, double x, double y, double z, double value[VARIABLES])
{
    const double place[3] = {x / (box->points - 1), y / (box->points - 1), z / (box->points - 1)};
    for (int m = 0; m < VARIABLES; m++) {
        const double *c = coefficients[m];
        value[m] = c[0];
        for (int d = 0; d < 3; d++)
            value[m] +=
                place[d] * (c[1 + d] + place[d] * (c[4 + d] + place[d] * (c[7 + d] + place[d] * c[10 + d])));
    }
}

/* Exact on the boundary. Inside, the values between opposite faces, combined by the formula of section
 * 3.2.2. */
static void start_point(const struct box *box, const int point[3], double value[VARIABLES])
{
    int last = box->points - 1;
    bool boundary = false;
    for (int d = 0; d < 3; d++) boundary |= point[d] == 0 || point[d] == last;
    if (boundary) {
        exact(box, point[0], point[1], point[2], value);
        return;
    }
    double between[3][VARIABLES];
    for (int d = 0; d < 3; d++) {
        double low[VARIABLES], high[VARIABLES], share = (double)point[d] / last;
        double from[3] = {point[0], point[1], point[2]}, to[3] = {point[0], point[1], point[2]};
        from[d] = 0;
        to[d] = last;
        exact(box, from[0], from[1], from[2], low);
        exact(box, to[0], to[1], to[2], high);
        for (int m = 0; m < VARIABLES; m++) between[d][m] = (1 - share) * low[m] + share * high[m];
    }
    for (int m = 0; m < VARIABLES; m++) {
        double x = between[0][m], y = between[1][m], z = between[2][m];
        value[m] = x + y + z - x * y - y * z - z * x + x * y * z;
    }
}

void start_solution(struct solver *s)
{
    const struct box *box = &s->box;
    memset(s->v, 0, (size_t)at(box, -GHOSTS, -GHOSTS, box->points) * sizeof(double));
    for (int z = 0; z < box->points; z++)
        for (int y = 0; y < box->size[1]; y++)
            for (int x = 0; x < box->size[0]; x++) {
                double value[VARIABLES];
                int point[3] = {box->first[0] + x, box->first[1] + y, z};
                start_point(box, point, value);
                for (int m = 0; m < VARIABLES; m++) s->u[at(box, x, y, z) + m * box->row] = value[m];
            }
}

/* Square roots of the means over the inside of the whole grid. */
static void finish_norms(const struct box *box, const double mine[VARIABLES], double norm[VARIABLES])
{
    MPI_Allreduce(mine, norm, VARIABLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int m = 0; m < VARIABLES; m++) norm[m] = sqrt(norm[m] / pow(box->points - 2, 3));
}

static void add_squares(const struct solver *s, bool error, double sum[VARIABLES])
{
    const struct box *box = &s->box;
    for (int z = 1; z < box->points - 1; z++)
        for (int y = interior_begin(box, 1); y < interior_end(box, 1); y++)
            for (int x = interior_begin(box, 0); x < interior_end(box, 0); x++) {
                double wanted[VARIABLES] = {0};
                if (error) exact(box, box->first[0] + x, box->first[1] + y, z, wanted);
                const double *value = (error ? s->u : s->v) + at(box, x, y, z);
                for (int m = 0; m < VARIABLES; m++) {
                    double difference = wanted[m] - value[m * box->row];
                    sum[m] += difference * difference;
                }
            }
}

void residual_norms(const struct solver *s, double norm[VARIABLES])
{
    double mine[VARIABLES] = {0};
    add_squares(s, false, mine);
    finish_norms(&s->box, mine, norm);
}

void error_norms(const struct solver *s, double norm[VARIABLES])
{
    double mine[VARIABLES] = {0};
    add_squares(s, true, mine);
    finish_norms(&s->box, mine, norm);
}

/* Weight of a point in the trapezoidal sum from `low` to `high`; 0 outside. */
static double weight(int point, int low, int high)
{
    if (point < low || point > high) return 0;
    return point == low || point == high ? 1 : 2;
}

/* Over the six faces of a box that lies inside the grid: x from 1 to n - 2, y from 1 to n - 3, z from 2
 * to n - 2. */
double surface_integral(const struct solver *s)
{
    const struct box *box = &s->box;
    int n = box->points, low[3] = {1, 1, 2}, high[3] = {n - 2, n - 3, n - 2};
    double mine = 0, all, cell = 1.0 / (n - 1) / (n - 1);
    for (int z = 0; z < n; z++)
        for (int y = 0; y < box->size[1]; y++)
            for (int x = 0; x < box->size[0]; x++) {
                int point[3] = {box->first[0] + x, box->first[1] + y, z};
                double w[3], faces = 0;
                bool face[3];
                for (int d = 0; d < 3; d++) {
                    w[d] = weight(point[d], low[d], high[d]);
                    face[d] = point[d] == low[d] || point[d] == high[d];
                }
                for (int d = 0; d < 3; d++) faces += face[d] ? w[(d + 1) % 3] * w[(d + 2) % 3] : 0;
                if (faces == 0) continue;
                const double *u = s->u + at(box, x, y, z);
                int row = box->row;
                double momentum = u[row] * u[row] + u[2 * row] * u[2 * row] + u[3 * row] * u[3 * row];
                mine += faces * cell * K2 * (u[4 * row] - 0.5 * momentum / u[0]);
            }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return 0.25 * all;
}
