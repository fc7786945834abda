/* LU's right-hand side (RNR-94-007, section 3.1): central differences of the fluxes, second differences of
 * velocities and energy, and dissipation of second and fourth order, one direction after the other, a row of
 * points at a time. */
#include "lu.h"

#include <string.h>

static const double DISSIPATION = 0.25; /* of fourth order: max(0.75, 0.75, 1) / 4 */

/* Weights of the fourth difference for each point of a row: two points next to a boundary leave out what is
 * on it. */
struct fourth {
    double weight[5][MOST_ROW];
};

static void fourth_weights(struct fourth *fourth, int index, int point, int points)
{
    bool first = point == 1, last = point == points - 2;
    fourth->weight[0][index] = point > 2;
    fourth->weight[1][index] = first ? 0 : -4;
    fourth->weight[2][index] = first || last ? 5 : 6;
    fourth->weight[3][index] = last ? 0 : -4;
    fourth->weight[4][index] = point < points - 3;
}

/* Flux in direction n (1, 2, 3: the variable that is its momentum), and what is differentiated twice, of one
 * point. */
struct flux {
    double mass, momentum[3], energy, velocity[3], square, specific;
};

static inline __attribute__((always_inline)) struct flux flux_of(int n, const double *u, int row,
                                                                 double inverse)
{
    struct flux f;
    double m1 = u[row], m2 = u[2 * row], m3 = u[3 * row], e = u[4 * row];
    f.velocity[0] = m1 * inverse;
    f.velocity[1] = m2 * inverse;
    f.velocity[2] = m3 * inverse;
    double speed = f.velocity[n - 1];
    f.square = f.velocity[0] * f.velocity[0] + f.velocity[1] * f.velocity[1] + f.velocity[2] * f.velocity[2];
    double kinetic = 0.5 * f.square * u[0];
    double pressure = K2 * (e - kinetic);
    f.mass = u[n * row];
    f.momentum[0] = m1 * speed + (n == 1 ? pressure : 0);
    f.momentum[1] = m2 * speed + (n == 2 ? pressure : 0);
    f.momentum[2] = m3 * speed + (n == 3 ? pressure : 0);
    f.energy = (e + pressure) * speed;
    f.specific = e * inverse;
    return f;
}

/* Adds one direction to `out` (five variables, `row` apart) for points begin .. end - 1 of a row. `step` is
 * the distance to the neighbour in that direction, of u; `inverse_step` that of 1 / density. */
static inline __attribute__((always_inline)) void
add_direction(int n, const struct direction *d, const double *restrict u, const double *restrict inverse,
              int row, int64_t step, int64_t inverse_step, const struct fourth *fourth, double *restrict out,
              int begin, int end)
{
    const double t1 = d->second, t2 = d->first, smooth = d->second * d->dissipation, viscous = t1 * K34;
    /* Where a weight is zero the neighbour may not exist: the rows of y and z have one weight for all their
     * points. */
    const int64_t far_low = n > 1 && fourth->weight[0][begin] == 0 ? 0 : -2 * step;
    const int64_t far_high = n > 1 && fourth->weight[4][begin] == 0 ? 0 : 2 * step;
#pragma omp simd
    for (int x = begin; x < end; x++) {
        struct flux low = flux_of(n, u + x - step, row, inverse[x - inverse_step]);
        struct flux here = flux_of(n, u + x, row, inverse[x]);
        struct flux high = flux_of(n, u + x + step, row, inverse[x + inverse_step]);
        double second[3];
        second[0] = low.velocity[0] - 2 * here.velocity[0] + high.velocity[0];
        second[1] = low.velocity[1] - 2 * here.velocity[1] + high.velocity[1];
        second[2] = low.velocity[2] - 2 * here.velocity[2] + high.velocity[2];
        second[n - 1] *= 4.0 / 3;
        double speeds = low.velocity[n - 1] * low.velocity[n - 1] -
                        2 * here.velocity[n - 1] * here.velocity[n - 1] +
                        high.velocity[n - 1] * high.velocity[n - 1];
        double squares = low.square - 2 * here.square + high.square;
        double specific = low.specific - 2 * here.specific + high.specific;
        out[x] -= t2 * (high.mass - low.mass);
        out[x + row] += viscous * second[0] - t2 * (high.momentum[0] - low.momentum[0]);
        out[x + 2 * row] += viscous * second[1] - t2 * (high.momentum[1] - low.momentum[1]);
        out[x + 3 * row] += viscous * second[2] - t2 * (high.momentum[2] - low.momentum[2]);
        out[x + 4 * row] += viscous * (0.5 * (1 - K15) * squares + speeds / 6 + K15 * specific) -
                            t2 * (high.energy - low.energy);
    }
    for (int m = 0; m < VARIABLES; m++) {
        const double *c = u + m * row;
        double *sum = out + m * row;
#pragma omp simd
        for (int x = begin; x < end; x++) {
            double differences = fourth->weight[0][x] * c[x + far_low] + fourth->weight[1][x] * c[x - step] +
                                 fourth->weight[2][x] * c[x] + fourth->weight[3][x] * c[x + step] +
                                 fourth->weight[4][x] * c[x + far_high];
            sum[x] += smooth * (c[x - step] - 2 * c[x] + c[x + step]) - DISSIPATION * differences;
        }
    }
}

static void invert_density(struct solver *s)
{
    const struct box *box = &s->box;
    for (int z = 0; z < box->points; z++)
        for (int y = -1; y <= box->size[1]; y++) {
            const double *density = s->u + at(box, -1, y, z);
            double *inverse = s->inverse + inverse_at(box, -1, y, z);
            for (int x = 0; x < box->size[0] + 2; x++) inverse[x] = 1 / density[x];
        }
}

/* out (inside) = operator(u) - minus */
static void apply_operator(struct solver *s, const double *minus, double *out)
{
    const struct box *box = &s->box;
    const int row = box->row, begin = interior_begin(box, 0), end = interior_end(box, 0), n = box->points;
    const int64_t step_y = at(box, 0, 1, 0) - at(box, 0, 0, 0), step_z = at(box, 0, 0, 1) - at(box, 0, 0, 0);
    static struct fourth along_x, along_y, along_z;
    for (int x = begin; x < end; x++) fourth_weights(&along_x, x, box->first[0] + x, n);
    invert_density(s);
    for (int z = 1; z < n - 1; z++) {
        for (int x = begin; x < end; x++) fourth_weights(&along_z, x, z, n);
        for (int y = interior_begin(box, 1); y < interior_end(box, 1); y++) {
            const double *u = s->u + at(box, 0, y, z), *inverse = s->inverse + inverse_at(box, 0, y, z);
            double *sum = out + at(box, 0, y, z);
            for (int x = begin; x < end; x++) fourth_weights(&along_y, x, box->first[1] + y, n);
            for (int m = 0; m < VARIABLES; m++)
                for (int x = begin; x < end; x++)
                    sum[x + m * row] = minus ? -minus[at(box, x, y, z) + m * row] : 0;
            if (begin == end) continue;
            add_direction(1, &s->along[0], u, inverse, row, 1, 1, &along_x, sum, begin, end);
            add_direction(2, &s->along[1], u, inverse, row, step_y, step_y / VARIABLES, &along_y, sum, begin,
                          end);
            add_direction(3, &s->along[2], u, inverse, row, step_z, step_z / VARIABLES, &along_z, sum, begin,
                          end);
        }
    }
}

void right_hand_side(struct solver *s)
{
    halo_exchange(&s->box, s->u);
    apply_operator(s, s->forcing, s->v);
}

void make_forcing(struct solver *s)
{
    const struct box *box = &s->box;
    for (int z = 0; z < box->points; z++)
        for (int y = -GHOSTS; y < box->size[1] + GHOSTS; y++)
            for (int x = -GHOSTS; x < box->size[0] + GHOSTS; x++) {
                double value[VARIABLES];
                exact(box, box->first[0] + x, box->first[1] + y, z, value);
                for (int m = 0; m < VARIABLES; m++) s->u[at(box, x, y, z) + m * box->row] = value[m];
            }
    apply_operator(s, NULL, s->forcing);
}
