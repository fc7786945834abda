/* Himeno's exchange of faces: k, then j, then i, each with the ghosts that the ones before have filled: so
 * the stencil's edges need no messages of their own. */
#include "himeno.h"

#include <string.h>

enum { TAG = 50 };

static float *out[2], *in[2]; /* [0]: to and from below; [1]: above */

void halo_prepare(const struct box *box)
{
    int64_t face = 0;
    for (int d = 0; d < DIRECTIONS; d++) {
        int64_t across = elements_of(box) / (box->size[d] + 2);
        if (face < across) face = across;
    }
    for (int i = 0; i < 2; i++) {
        out[i] = nas_memory((size_t)face, sizeof(float));
        in[i] = nas_memory((size_t)face, sizeof(float));
    }
}

/* The points whose coordinate d is `where`, in directions after d with ghosts; returns how many. */
static int copy_face(const struct box *box, float *p, int d, int where, float *buffer, bool into)
{
    int low[DIRECTIONS], high[DIRECTIONS], n = 0;
    for (int e = 0; e < DIRECTIONS; e++) {
        low[e] = e > d ? -1 : 0;
        high[e] = box->size[e] + (e > d ? 1 : 0);
    }
    low[d] = where;
    high[d] = where + 1;
    size_t run = (size_t)(high[2] - low[2]);
    for (int i = low[0]; i < high[0]; i++)
        for (int j = low[1]; j < high[1]; j++, n += (int)run) {
            float *points = p + element_at(box, i, j, low[2]);
            memcpy(into ? points : buffer + n, into ? buffer + n : points, run * sizeof(float));
        }
    return n;
}

void halo(const struct box *box, float *p)
{
    for (int d = DIRECTIONS - 1; d >= 0; d--) {
        if (box->ranks[d] == 1) continue;
        int below = box->below[d], above = box->above[d], last = box->size[d] - 1, tag = TAG + 2 * d;
        MPI_Request requests[4];
        int count = copy_face(box, p, d, 0, out[0], false);
        MPI_Irecv(in[0], count, MPI_FLOAT, below, tag + 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(in[1], count, MPI_FLOAT, above, tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(out[0], count, MPI_FLOAT, below, tag, MPI_COMM_WORLD, &requests[2]);
        copy_face(box, p, d, last, out[1], false);
        MPI_Isend(out[1], count, MPI_FLOAT, above, tag + 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        if (below != MPI_PROC_NULL) copy_face(box, p, d, -1, in[0], true);
        if (above != MPI_PROC_NULL) copy_face(box, p, d, last + 1, in[1], true);
    }
}
