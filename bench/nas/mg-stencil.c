/* MG's four operators (RNR-94-007, section 2.4). Each has coefficients for the point itself, its 6 faces, 12
 * edges and 8 corners. Sums over the four rows beside and the four rows across a row of points are made once
 * and serve three points each. Rows are fetched by planes: three planes of class B fit the second-level
 * cache. */
#include "mg.h"

/* The coefficients of A; the faces' is zero. */
static const double A_CENTRE = -8.0 / 3, A_EDGE = 1.0 / 6, A_CORNER = 1.0 / 12;

enum { LONGEST = 256 + 2 };

/* Sums at each point of a row (ghosts included): over the rows that differ in one coordinate, and in two. */
static void beside(const double *at, int64_t row, int64_t plane, int points, double *restrict one,
                   double *restrict two)
{
    const double *below = at - plane, *above = at + plane;
#pragma omp simd
    for (int x = 0; x < points; x++) {
        one[x] = at[x - row] + at[x + row] + below[x] + above[x];
        two[x] = below[x - row] + below[x + row] + above[x - row] + above[x + row];
    }
}

void residual(const struct grid *grid, const double *v, const double *u, double *r)
{
    double one[LONGEST], two[LONGEST];
    int64_t row = grid_row(grid), plane = grid_plane(grid);
    int points = grid->size[2];
    for (int z = 0; z < grid->size[0]; z++)
        for (int y = 0; y < grid->size[1]; y++) {
            int64_t start = grid_at(grid, z, y, -1);
            const double *centre = u + start, *right = v + start;
            double *out = r + start;
            beside(centre, row, plane, points + 2, one, two);
#pragma omp simd
            for (int x = 1; x <= points; x++)
                out[x] = right[x] - A_CENTRE * centre[x] - A_EDGE * (two[x] + one[x - 1] + one[x + 1]) -
                         A_CORNER * (two[x - 1] + two[x + 1]);
        }
}

/* The corners' coefficient is zero in all classes. */
void smooth(const struct grid *grid, const double c[4], const double *r, double *u, bool from_zero)
{
    double one[LONGEST], two[LONGEST];
    const double c0 = c[0], c1 = c[1], c2 = c[2];
    int64_t row = grid_row(grid), plane = grid_plane(grid);
    int points = grid->size[2];
    for (int z = 0; z < grid->size[0]; z++)
        for (int y = 0; y < grid->size[1]; y++) {
            int64_t start = grid_at(grid, z, y, -1);
            const double *centre = r + start;
            double *out = u + start;
            beside(centre, row, plane, points + 2, one, two);
            if (from_zero)
                for (int x = 1; x <= points; x++) out[x] = 0;
#pragma omp simd
            for (int x = 1; x <= points; x++)
                out[x] += c0 * centre[x] + c1 * (centre[x - 1] + centre[x + 1] + one[x]) +
                          c2 * (two[x] + one[x - 1] + one[x + 1]);
        }
}

/* Coarse point j lies on fine point 2 j + 1 in each direction. */
void restrict_to(const struct grid *fine, const double *r, double *coarse, int64_t coarse_row,
                 int64_t coarse_plane)
{
    double one[LONGEST], two[LONGEST];
    int64_t row = grid_row(fine), plane = grid_plane(fine);
    int points = fine->size[2];
    for (int z = 0; z < fine->size[0] / 2; z++)
        for (int y = 0; y < fine->size[1] / 2; y++) {
            const double *centre = r + grid_at(fine, 2 * z + 1, 2 * y + 1, 0);
            double *out = coarse + z * coarse_plane + y * coarse_row;
            beside(centre, row, plane, points + 1, one, two);
#pragma omp simd
            for (int x = 0; x < points / 2; x++) {
                int at = 2 * x + 1;
                out[x] = 0.5 * centre[at] + 0.25 * (centre[at - 1] + centre[at + 1] + one[at]) +
                         0.125 * (one[at - 1] + one[at + 1] + two[at]) + 0.0625 * (two[at - 1] + two[at + 1]);
            }
        }
}

/* The coarse row that a fine row lies on or between: sum of one, two or four rows, weighted. Points -1 to
 * `points`. */
static void coarse_line(const double *coarse, int64_t row, int64_t plane, int z, int y, int points,
                        double *restrict line)
{
    /* Fine 2 j + 1 is coarse j; fine 2 j is between j - 1 and j. Shifts round down, also for -1. */
    const double *near = coarse + (z >> 1) * plane + (y >> 1) * row - 1;
    int64_t other_plane = z & 1 ? 0 : -plane, other_row = y & 1 ? 0 : -row;
    const double *far = near + other_plane;
#pragma omp simd
    for (int x = 0; x < points + 2; x++)
        line[x] = 0.25 * (near[x] + near[x + other_row] + far[x] + far[x + other_row]);
}

void interpolate(const struct grid *fine, const double *coarse, int64_t coarse_row, int64_t coarse_plane,
                 double *u, bool from_zero)
{
    double line[LONGEST / 2 + 2];
    int points = fine->size[2] / 2;
    for (int z = -1; z <= fine->size[0]; z++)
        for (int y = -1; y <= fine->size[1]; y++) {
            double *out = u + grid_at(fine, z, y, 0);
            coarse_line(coarse, coarse_row, coarse_plane, z, y, points, line);
            if (from_zero)
                for (int x = -1; x <= 2 * points; x++) out[x] = 0;
            out[-1] += line[0];
#pragma omp simd
            for (int x = 0; x < points; x++) {
                out[2 * x] += 0.5 * (line[x] + line[x + 1]);
                out[2 * x + 1] += line[x + 1];
            }
            out[2 * points] += 0.5 * (line[points] + line[points + 1]);
        }
}
