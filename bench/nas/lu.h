/* LU: what its files share. The grid is cut in x and y; a row of points along x keeps its five variables one
 * after the other, so that loops along x run in vector registers. */
#ifndef TASUKI_NAS_LU_H
#define TASUKI_NAS_LU_H

#include "common/nas.h"

enum { VARIABLES = 5, GHOSTS = 2, MOST_POINTS = 102, MOST_ROW = MOST_POINTS + 2 * GHOSTS + 8 };

/* RNR-94-007, section 3: constants of the equations, by the names used there. */
#define K1 1.40
#define K2 0.40
#define K34 (0.10 * 1.00)
#define K15 (K1 * 1.40)

/* Where this rank's box lies. Local indices count from the box's first point; ghosts are -2, -1 and size,
 * size + 1. */
struct box {
    int points;             /* of the whole grid, in every direction */
    int size[2], first[2];  /* x, y; z is not cut */
    int ranks[2], place[2];
    int west, east, south, north; /* neighbours, or MPI_PROC_NULL */
    int thinnest;           /* fewest points that any rank has in x or y */
    int row;                /* doubles from one variable of a row to the next */
};

/* Coefficients of one direction d = 0 (x), 1 (y), 2 (z). */
struct direction {
    double first;           /* 1 / (2 h) */
    double second;          /* 1 / h^2 */
    double dissipation;     /* of second order: 0.75, 0.75, 1 */
};

struct solver {
    struct box box;
    struct direction along[3];
    double step;            /* pseudo time */
    double *u;              /* the solution, with ghosts */
    double *inverse;        /* 1 / density, one variable, as u otherwise */
    double *v;              /* right-hand side; then its sweep */
    double *forcing;
};

/* Variable 0 of point (x, y, z); the next variable is box->row further. */
static inline int64_t at(const struct box *box, int x, int y, int z)
{
    return (((int64_t)z * (box->size[1] + 2 * GHOSTS) + y + GHOSTS) * VARIABLES) * box->row + x + GHOSTS;
}
static inline int64_t inverse_at(const struct box *box, int x, int y, int z)
{
    return ((int64_t)z * (box->size[1] + 2 * GHOSTS) + y + GHOSTS) * box->row + x + GHOSTS;
}
/* Local range of the points of direction d (0, 1) that are not on the boundary of the whole grid. */
static inline int interior_begin(const struct box *box, int d) { return box->first[d] == 0 ? 1 : 0; }
static inline int interior_end(const struct box *box, int d)
{
    return box->first[d] + box->size[d] == box->points ? box->size[d] - 1 : box->size[d];
}

/* lu-problem.c */
void exact(const struct box *box, double x, double y, double z, double value[VARIABLES]); /* global indices */
void start_solution(struct solver *s);
void residual_norms(const struct solver *s, double norm[VARIABLES]);
void error_norms(const struct solver *s, double norm[VARIABLES]);
double surface_integral(const struct solver *s);

/* lu-rhs.c: v = operator(u) - forcing inside; and forcing = operator(exact solution), with u as room. */
void right_hand_side(struct solver *s);
void make_forcing(struct solver *s);

/* lu-sweep.c: v <- (D + w L)^-1 v, then (I + w D^-1 U)^-1 v, with w = 1.2. */
#define OMEGA 1.2
void lower_sweep(struct solver *s);
void upper_sweep(struct solver *s);

/* lu-halo.c */
void halo_prepare(const struct box *box);
void halo_exchange(const struct box *box, double *u);
/* One plane's edge from the neighbours that come first in the sweep, and to those that come next. */
void edge_receive(const struct box *box, double *v, int z, bool upwards);
void edge_send(const struct box *box, const double *v, int z, bool upwards);
void edge_finish(void);

#endif
