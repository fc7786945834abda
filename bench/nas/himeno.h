/* Himeno: what its two files share. Each rank has a box with one ghost layer all around. */
#ifndef TASUKI_NAS_HIMENO_H
#define TASUKI_NAS_HIMENO_H

#include "common/nas.h"

enum { DIRECTIONS = 3 };

struct box {
    int points[DIRECTIONS];     /* of the whole grid in i, j, k; k lies side by side in memory */
    int ranks[DIRECTIONS], place[DIRECTIONS];
    int size[DIRECTIONS], first[DIRECTIONS];
    int below[DIRECTIONS], above[DIRECTIONS];   /* ranks, or MPI_PROC_NULL */
};

static inline int64_t row_of(const struct box *box) { return box->size[2] + 2; }
static inline int64_t plane_of(const struct box *box) { return row_of(box) * (box->size[1] + 2); }
static inline int64_t elements_of(const struct box *box) { return plane_of(box) * (box->size[0] + 2); }
/* Coordinates count from the box's first point; -1 and size are ghosts. */
static inline int64_t element_at(const struct box *box, int i, int j, int k)
{
    return (i + 1) * plane_of(box) + (j + 1) * row_of(box) + k + 1;
}

/* himeno-halo.c: fills the ghosts, edges included. */
void halo_prepare(const struct box *box);
void halo(const struct box *box, float *p);

#endif
