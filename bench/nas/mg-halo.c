/* MG's exchange of faces: x, then y, then z, each with the ghosts that the ones before have filled, so that edges and
 * corners need no messages of their own. */
#include "mg.h"

enum { TO_BELOW = 10, TO_ABOVE = 20 }; /* tags, plus the direction */

static struct ranks neighbours;
static double *send_buffer[2], *receive_buffer[2]; /* [0]: towards below, from below; [1]: above */

void halo_prepare(const struct grid *largest, const struct ranks *ranks)
{
    neighbours = *ranks;
    size_t face = 0;
    for (int d = 0; d < 3; d++) {
        size_t across = (size_t)grid_elements(largest) / ((size_t)largest->size[d] + 2);
        if (face < across) face = across;
    }
    for (int i = 0; i < 2; i++) {
        send_buffer[i] = nas_memory(face, sizeof(double));
        receive_buffer[i] = nas_memory(face, sizeof(double));
    }
}

/* A face of the box with its ghosts: the points whose coordinate `direction` is `where`. */
struct face {
    int64_t start, count[2], step[2]; /* outer and inner loop */
};

static struct face face_at(const struct grid *grid, int direction, int where)
{
    int64_t step[3] = {grid_plane(grid), grid_row(grid), 1};
    struct face face = {.start = (where + 1) * step[direction]};
    for (int d = 0, i = 0; d < 3; d++) {
        if (d == direction) continue;
        face.count[i] = grid->size[d] + 2;
        face.step[i++] = step[d];
    }
    return face;
}

static int pack(const struct face *face, const double *array, double *buffer)
{
    int n = 0;
    for (int64_t i = 0; i < face->count[0]; i++)
        for (int64_t j = 0; j < face->count[1]; j++)
            buffer[n++] = array[face->start + i * face->step[0] + j * face->step[1]];
    return n;
}

static void unpack(const struct face *face, const double *buffer, double *array)
{
    for (int64_t i = 0, n = 0; i < face->count[0]; i++)
        for (int64_t j = 0; j < face->count[1]; j++)
            array[face->start + i * face->step[0] + j * face->step[1]] = buffer[n++];
}

static void wrap(const struct grid *grid, int direction, double *array)
{
    int last = grid->size[direction] - 1;
    struct face from[2] = {face_at(grid, direction, last), face_at(grid, direction, 0)};
    struct face to[2] = {face_at(grid, direction, -1), face_at(grid, direction, last + 1)};
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < from[side].count[0]; i++)
            for (int64_t j = 0; j < from[side].count[1]; j++) {
                int64_t at = i * from[side].step[0] + j * from[side].step[1];
                array[to[side].start + at] = array[from[side].start + at];
            }
}

static void swap(const struct grid *grid, int direction, double *array)
{
    int last = grid->size[direction] - 1;
    int below = neighbours.below[direction], above = neighbours.above[direction];
    MPI_Request requests[4];
    struct face low = face_at(grid, direction, 0), high = face_at(grid, direction, last);
    struct face low_ghost = face_at(grid, direction, -1), high_ghost = face_at(grid, direction, last + 1);
    int count = (int)(low.count[0] * low.count[1]);
    MPI_Irecv(receive_buffer[0], count, MPI_DOUBLE, below, TO_ABOVE + direction, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(receive_buffer[1], count, MPI_DOUBLE, above, TO_BELOW + direction, MPI_COMM_WORLD, &requests[1]);
    pack(&low, array, send_buffer[0]);
    MPI_Isend(send_buffer[0], count, MPI_DOUBLE, below, TO_BELOW + direction, MPI_COMM_WORLD, &requests[2]);
    pack(&high, array, send_buffer[1]);
    MPI_Isend(send_buffer[1], count, MPI_DOUBLE, above, TO_ABOVE + direction, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    unpack(&low_ghost, receive_buffer[0], array);
    unpack(&high_ghost, receive_buffer[1], array);
}

void halo(const struct grid *grid, double *array)
{
    for (int direction = 2; direction >= 0; direction--) {
        if (grid->whole || neighbours.count[direction] == 1) wrap(grid, direction, array);
        else swap(grid, direction, array);
    }
}
