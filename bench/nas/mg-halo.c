/* MG's exchange of faces: x, then y, then z, each with the ghosts that the ones before have filled, so that
 * edges and corners need no messages of their own. */
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

/* A face of the box: the points whose coordinate `direction` is `where`; ghosts only in the directions that
 * have been exchanged before. */
struct face {
    int64_t start, count[2], step[2]; /* outer and inner loop */
};

static struct face face_at(const struct grid *grid, int direction, enum sides sides, int where)
{
    int64_t step[3] = {grid_plane(grid), grid_row(grid), 1};
    struct face face = {.start = (where + 1) * step[direction]};
    for (int d = 0, i = 0; d < 3; d++) {
        if (d == direction) continue;
        bool high = d > direction, low = high && sides == BOTH;
        face.start += low ? 0 : step[d];
        face.count[i] = grid->size[d] + high + low;
        face.step[i++] = step[d];
    }
    return face;
}

static void pack(const struct face *face, const double *array, double *buffer)
{
    for (int64_t i = 0, n = 0; i < face->count[0]; i++)
        for (int64_t j = 0; j < face->count[1]; j++)
            buffer[n++] = array[face->start + i * face->step[0] + j * face->step[1]];
}

static void unpack(const struct face *face, const double *buffer, double *array)
{
    for (int64_t i = 0, n = 0; i < face->count[0]; i++)
        for (int64_t j = 0; j < face->count[1]; j++)
            array[face->start + i * face->step[0] + j * face->step[1]] = buffer[n++];
}

/* From one side of the box to the ghosts of the other. */
static void wrap(const struct grid *grid, int direction, enum sides sides, int from, int to, double *array)
{
    struct face source = face_at(grid, direction, sides, from), target = face_at(grid, direction, sides, to);
    for (int64_t i = 0; i < source.count[0]; i++)
        for (int64_t j = 0; j < source.count[1]; j++) {
            int64_t at = i * source.step[0] + j * source.step[1];
            array[target.start + at] = array[source.start + at];
        }
}

static void swap(const struct grid *grid, int direction, enum sides sides, double *array)
{
    int last = grid->size[direction] - 1, messages = 0;
    int below = neighbours.below[direction], above = neighbours.above[direction];
    MPI_Request requests[4];
    struct face low = face_at(grid, direction, sides, 0), high = face_at(grid, direction, sides, last);
    struct face low_ghost = face_at(grid, direction, sides, -1),
                high_ghost = face_at(grid, direction, sides, last + 1);
    int count = (int)(low.count[0] * low.count[1]), down = TO_BELOW + direction, up = TO_ABOVE + direction;
    MPI_Irecv(receive_buffer[1], count, MPI_DOUBLE, above, down, MPI_COMM_WORLD, &requests[messages++]);
    if (sides == BOTH)
        MPI_Irecv(receive_buffer[0], count, MPI_DOUBLE, below, up, MPI_COMM_WORLD, &requests[messages++]);
    pack(&low, array, send_buffer[0]);
    MPI_Isend(send_buffer[0], count, MPI_DOUBLE, below, down, MPI_COMM_WORLD, &requests[messages++]);
    if (sides == BOTH) {
        pack(&high, array, send_buffer[1]);
        MPI_Isend(send_buffer[1], count, MPI_DOUBLE, above, up, MPI_COMM_WORLD, &requests[messages++]);
    }
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    unpack(&high_ghost, receive_buffer[1], array);
    if (sides == BOTH) unpack(&low_ghost, receive_buffer[0], array);
}

void halo(const struct grid *grid, enum sides sides, double *array)
{
    for (int direction = 2; direction >= 0; direction--) {
        int last = grid->size[direction] - 1;
        if (!grid->whole && neighbours.count[direction] > 1) {
            swap(grid, direction, sides, array);
            continue;
        }
        wrap(grid, direction, sides, 0, last + 1, array);
        if (sides == BOTH) wrap(grid, direction, sides, last, -1, array);
    }
}
