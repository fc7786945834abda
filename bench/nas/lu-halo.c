/* LU's messages: two layers of ghosts around each box after every step, and the edges of planes that a sweep
 * hands on. */
#include "lu.h"

#include <string.h>

enum { TAG_HALO = 30, TAG_EDGE = 40, MOST_EDGES = 2 * MOST_POINTS };

static double *out[4], *in[4];
static double *edges;           /* sent, one slot per message of a sweep */
static MPI_Request pending[MOST_EDGES];
static int edges_sent;
static size_t slot;             /* doubles */

void halo_prepare(const struct box *box)
{
    size_t longest = (size_t)(box->size[0] > box->size[1] ? box->size[0] : box->size[1]);
    size_t layer = longest * VARIABLES * (size_t)box->points;
    for (int i = 0; i < 4; i++) {
        out[i] = nas_memory(layer * GHOSTS, sizeof(double));
        in[i] = nas_memory(layer * GHOSTS, sizeof(double));
    }
    slot = longest * VARIABLES;
    edges = nas_memory(slot * MOST_EDGES, sizeof(double));
}

/* Copies a column (constant x) or a row (constant y) of plane z, all variables; returns the doubles
 * copied. */
static int copy_column(const struct box *box, double *array, int x, int z, double *buffer, bool into)
{
    int n = 0;
    for (int y = 0; y < box->size[1]; y++) {
        double *point = array + at(box, x, y, z);
        for (int m = 0; m < VARIABLES; m++, n++) {
            if (into) point[m * box->row] = buffer[n];
            else buffer[n] = point[m * box->row];
        }
    }
    return n;
}

static int copy_row(const struct box *box, double *array, int y, int z, double *buffer, bool into)
{
    size_t points = (size_t)box->size[0];
    double *first = array + at(box, 0, y, z);
    for (int m = 0; m < VARIABLES; m++) {
        if (into) memcpy(first + m * box->row, buffer + m * points, points * sizeof(double));
        else memcpy(buffer + m * points, first + m * box->row, points * sizeof(double));
    }
    return (int)points * VARIABLES;
}

/* `layers` layers from the one at `from` on (x if d is 0, y if 1), all planes. */
static int copy_layers(const struct box *box, double *array, int d, int from, int layers, double *buffer,
                       bool into)
{
    int n = 0;
    for (int layer = from; layer < from + layers; layer++)
        for (int z = 0; z < box->points; z++)
            n += d == 0 ? copy_column(box, array, layer, z, buffer + n, into)
                        : copy_row(box, array, layer, z, buffer + n, into);
    return n;
}

/* Layers low .. low + layers - 1 to the neighbour below, and as many from the high end to the one above. */
static void swap_layers(const struct box *box, double *u, int d, int depth, int layers)
{
    int size = box->size[d], below = d ? box->south : box->west, above = d ? box->north : box->east;
    int tag = TAG_HALO + 2 * d, count = layers * box->size[1 - d] * VARIABLES * box->points;
    MPI_Request requests[4];
    MPI_Irecv(in[0], count, MPI_DOUBLE, below, tag + 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], count, MPI_DOUBLE, above, tag, MPI_COMM_WORLD, &requests[1]);
    copy_layers(box, u, d, depth, layers, out[0], false);
    MPI_Isend(out[0], count, MPI_DOUBLE, below, tag, MPI_COMM_WORLD, &requests[2]);
    copy_layers(box, u, d, size - depth - layers, layers, out[1], false);
    MPI_Isend(out[1], count, MPI_DOUBLE, above, tag + 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (below != MPI_PROC_NULL) copy_layers(box, u, d, -depth - layers, layers, in[0], true);
    if (above != MPI_PROC_NULL) copy_layers(box, u, d, size + depth, layers, in[1], true);
}

/* If a rank has but one layer, the second one of its neighbour's ghosts is the next but one rank's: it is
 * handed on in a second round. */
void halo_exchange(const struct box *box, double *u)
{
    for (int d = 0; d < 2; d++) {
        if (box->ranks[d] == 1) continue;
        if (box->thinnest >= GHOSTS) {
            swap_layers(box, u, d, 0, GHOSTS);
            continue;
        }
        for (int depth = 0; depth < GHOSTS; depth++) swap_layers(box, u, d, depth, 1);
    }
}

void edge_receive(const struct box *box, double *v, int z, bool upwards)
{
    int across = upwards ? box->west : box->east, along = upwards ? box->south : box->north;
    if (across != MPI_PROC_NULL) {
        MPI_Recv(in[0], box->size[1] * VARIABLES, MPI_DOUBLE, across, TAG_EDGE, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        copy_column(box, v, upwards ? -1 : box->size[0], z, in[0], true);
    }
    if (along != MPI_PROC_NULL) {
        MPI_Recv(in[0], box->size[0] * VARIABLES, MPI_DOUBLE, along, TAG_EDGE + 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        copy_row(box, v, upwards ? -1 : box->size[1], z, in[0], true);
    }
}

void edge_send(const struct box *box, const double *v, int z, bool upwards)
{
    int across = upwards ? box->east : box->west, along = upwards ? box->north : box->south;
    double *array = (double *)v; /* only read */
    if (across != MPI_PROC_NULL) {
        double *buffer = edges + slot * (size_t)edges_sent;
        int count = copy_column(box, array, upwards ? box->size[0] - 1 : 0, z, buffer, false);
        MPI_Isend(buffer, count, MPI_DOUBLE, across, TAG_EDGE, MPI_COMM_WORLD, &pending[edges_sent++]);
    }
    if (along != MPI_PROC_NULL) {
        double *buffer = edges + slot * (size_t)edges_sent;
        int count = copy_row(box, array, upwards ? box->size[1] - 1 : 0, z, buffer, false);
        MPI_Isend(buffer, count, MPI_DOUBLE, along, TAG_EDGE + 1, MPI_COMM_WORLD, &pending[edges_sent++]);
    }
}

void edge_finish(void)
{
    MPI_Waitall(edges_sent, pending, MPI_STATUSES_IGNORE);
    edges_sent = 0;
}
