/* MG: what its files share. A grid is periodic, a box of it is on each rank with one ghost layer all around;
 * grids too coarse to be cut are whole on every rank. */
#ifndef TASUKI_NAS_MG_H
#define TASUKI_NAS_MG_H

#include "common/nas.h"

/* This rank's box of one grid. Element (z, y, x), each from -1 to the box's size, is at grid_at(). */
struct grid {
    int side;               /* of the whole grid */
    int size[3];            /* of the box: z, y, x */
    bool whole;             /* every rank has all of it */
    double *u, *r;
};

/* The grid of ranks: how many in each direction, this rank's place, and the ranks below and above it. */
struct ranks {
    int count[3], place[3];
    int below[3], above[3];
};

static inline int64_t grid_row(const struct grid *grid) { return grid->size[2] + 2; }
static inline int64_t grid_plane(const struct grid *grid) { return grid_row(grid) * (grid->size[1] + 2); }
static inline int64_t grid_elements(const struct grid *grid)
{
    return grid_plane(grid) * (grid->size[0] + 2);
}
static inline int64_t grid_at(const struct grid *grid, int z, int y, int x)
{
    return (z + 1) * grid_plane(grid) + (y + 1) * grid_row(grid) + x + 1;
}

/* mg-stencil.c. Coefficients by the number of coordinates that differ (centre, faces, edges, corners). */
/* r = v - A u; r may be v. */
void residual(const struct grid *grid, const double *v, const double *u, double *r);
/* u (+)= S r */
void smooth(const struct grid *grid, const double c[4], const double *r, double *u, bool from_zero);
/* The fine residual on every other point of a coarse array with the given distances of rows and planes. */
void restrict_to(const struct grid *fine, const double *r, double *coarse, int64_t row, int64_t plane);
/* u (+)= the coarse array between its points, ghost layer included. */
void interpolate(const struct grid *fine, const double *coarse, int64_t row, int64_t plane, double *u,
                 bool from_zero);

/* mg-halo.c: fills the ghost layer from the neighbours, or from the other side of the grid; HIGH: only beyond
 * the last point of each direction, which is all that restrict_to reads. */
enum sides { BOTH, HIGH };
void halo_prepare(const struct grid *largest, const struct ranks *ranks);
void halo(const struct grid *grid, enum sides sides, double *array);

/* mg-charges.c: +1 at the ten largest, -1 at the ten smallest of random numbers on the grid, 0 elsewhere. */
void place_charges(const struct grid *grid, const struct ranks *ranks, double *v);

#endif
