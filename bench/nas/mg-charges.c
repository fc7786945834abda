/* MG's right-hand side (RNR-94-007, section 2.4): found by drawing the random number of every point, in the
 * order x, y, z. */
#include "mg.h"

#include <stdlib.h>

enum { CHARGES = 10 };

struct extreme {
    double value;
    int64_t point; /* (z * side + y) * side + x in the whole grid */
};

/* Keeps the CHARGES largest of sign * value, the largest first. */
static void offer(struct extreme *list, double value, int64_t point)
{
    if (!(value > list[CHARGES - 1].value)) return;
    int at = CHARGES - 1;
    for (; at > 0 && value > list[at - 1].value; at--) list[at] = list[at - 1];
    list[at] = (struct extreme){value, point};
}

static void draw_box(const struct grid *grid, const int *first, struct extreme *largest,
                     struct extreme *smallest)
{
    for (int z = 0; z < grid->size[0]; z++)
        for (int y = 0; y < grid->size[1]; y++) {
            int64_t point = ((int64_t)(first[0] + z) * grid->side + first[1] + y) * grid->side + first[2];
            uint64_t seed = nas_step(314159265, nas_power(NAS_MULTIPLIER, (uint64_t)point));
            for (int x = 0; x < grid->size[2]; x++, point++) {
                seed = nas_step(seed, NAS_MULTIPLIER);
                offer(largest, nas_uniform(seed), point);
                offer(smallest, -nas_uniform(seed), point);
            }
        }
}

static void put(const struct grid *grid, const int *first, int64_t point, double charge, double *v)
{
    int z = (int)(point / grid->side / grid->side) - first[0];
    int y = (int)(point / grid->side % grid->side) - first[1];
    int x = (int)(point % grid->side) - first[2];
    if (z < 0 || z >= grid->size[0] || y < 0 || y >= grid->size[1] || x < 0 || x >= grid->size[2]) return;
    v[grid_at(grid, z, y, x)] = charge;
}

void place_charges(const struct grid *grid, const struct ranks *ranks, double *v)
{
    int first[3], all_ranks = ranks->count[0] * ranks->count[1] * ranks->count[2];
    struct extreme mine[2 * CHARGES], best[2 * CHARGES];
    for (int d = 0; d < 3; d++) first[d] = ranks->place[d] * grid->size[d];
    for (int i = 0; i < 2 * CHARGES; i++) mine[i] = best[i] = (struct extreme){-2, 0};
    draw_box(grid, first, mine, mine + CHARGES);
    struct extreme *all = nas_memory((size_t)all_ranks, sizeof mine);
    MPI_Allgather(mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < all_ranks * 2 * CHARGES; i++)
        offer(i / CHARGES % 2 ? best + CHARGES : best, all[i].value, all[i].point);
    free(all);
    for (int i = 0; i < CHARGES; i++) {
        put(grid, first, best[i].point, 1, v);
        put(grid, first, best[CHARGES + i].point, -1, v);
    }
}
