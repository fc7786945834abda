/* LU's two sweeps (RNR-94-007, section 3.3.2). Rows of blocks are never made: what a neighbour adds is the
 * derivative of the operator in the direction of the neighbour's change. The diagonal block is lower
 * triangular except for its last row, that is: density first, then momenta, then energy. */
#include "lu.h"

/* Adds to `sum` the influence of a neighbour in direction n (1, 2, 3), whose state is u and whose change is
 * v: t2 times the derivative of the flux plus t1 times that of the viscous terms and of the second-order
 * dissipation. */
static inline __attribute__((always_inline)) void influence(int n, double t1, double t2, double dissipation,
                                                            const double u[5], double inverse,
                                                            const double v[5], double sum[5])
{
    const double velocity[3] = {u[1] * inverse, u[2] * inverse, u[3] * inverse};
    const double specific = u[4] * inverse, speed = velocity[n - 1];
    const double half_square =
        0.5 * (velocity[0] * velocity[0] + velocity[1] * velocity[1] + velocity[2] * velocity[2]);
    const double change[3] = {(v[1] - velocity[0] * v[0]) * inverse, (v[2] - velocity[1] * v[0]) * inverse,
                              (v[3] - velocity[2] * v[0]) * inverse};
    const double speed_change = change[n - 1], specific_change = (v[4] - specific * v[0]) * inverse;
    const double along = velocity[0] * change[0] + velocity[1] * change[1] + velocity[2] * change[2];
    const double kinetic_change =
        velocity[0] * v[1] + velocity[1] * v[2] + velocity[2] * v[3] - half_square * v[0];
    const double pressure_change = K2 * (v[4] - kinetic_change);
    const double enthalpy = K1 * u[4] - K2 * half_square * u[0];
    const double viscous = t1 * K34, smooth = t1 * dissipation;

    sum[0] += t2 * v[n] + smooth * v[0];
    sum[1] += t2 * (u[1] * speed_change + speed * v[1] + (n == 1 ? pressure_change : 0)) + smooth * v[1] +
              viscous * (n == 1 ? 4.0 / 3 : 1.0) * change[0];
    sum[2] += t2 * (u[2] * speed_change + speed * v[2] + (n == 2 ? pressure_change : 0)) + smooth * v[2] +
              viscous * (n == 2 ? 4.0 / 3 : 1.0) * change[1];
    sum[3] += t2 * (u[3] * speed_change + speed * v[3] + (n == 3 ? pressure_change : 0)) + smooth * v[3] +
              viscous * (n == 3 ? 4.0 / 3 : 1.0) * change[2];
    sum[4] += t2 * (enthalpy * speed_change + speed * (v[4] + pressure_change)) + smooth * v[4] +
              viscous * ((1 - K15) * along + speed * speed_change / 3 + K15 * specific_change);
}

/* The diagonal block's parts that are the same everywhere. */
struct diagonal {
    double damping;         /* 1 + 2 step (sum of second * dissipation) */
    double viscous[3];      /* 2 step * sum of second * k3 k4, with 4/3 in the momentum's own direction */
    double conduction;      /* 2 step * sum of second * k1 k3 k4 k5 */
};

static struct diagonal diagonal_of(const struct solver *s)
{
    struct diagonal diagonal = {1, {0, 0, 0}, 0};
    for (int d = 0; d < 3; d++) {
        double twice = 2 * s->step * s->along[d].second;
        diagonal.damping += twice * s->along[d].dissipation;
        diagonal.conduction += twice * K34 * K15;
        for (int a = 0; a < 3; a++) diagonal.viscous[a] += twice * K34 * (a == d ? 4.0 / 3 : 1.0);
    }
    return diagonal;
}

/* What solving with the diagonal block needs of each point of a row, and the row's sums from y and z. */
struct row {
    double density;                         /* 1 / d11 */
    double from_density[3][MOST_ROW];       /* of the momenta: times the density's result */
    double momentum[3][MOST_ROW];           /* 1 / d22, d33, d44 */
    double last[5][MOST_ROW];               /* -d51 .. -d54, 1 / d55 */
    double sum[5][MOST_ROW];
};

static inline void prepare_row(const struct diagonal *diagonal, const double *restrict u,
                               const double *restrict inverse, int stride, int begin, int end,
                               struct row *restrict row)
{
    row->density = 1 / diagonal->damping;
#pragma omp simd
    for (int x = begin; x < end; x++) {
        double of_density = 0;
        for (int a = 0; a < 3; a++) {
            double velocity = u[x + (a + 1) * stride] * inverse[x];
            row->from_density[a][x] = diagonal->viscous[a] * velocity * inverse[x];
            row->momentum[a][x] = 1 / (diagonal->damping + diagonal->viscous[a] * inverse[x]);
            double share = (diagonal->viscous[a] - diagonal->conduction) * velocity * inverse[x];
            row->last[a + 1][x] = -share;
            of_density += share * velocity;
        }
        of_density += diagonal->conduction * u[x + 4 * stride] * inverse[x] * inverse[x];
        row->last[0][x] = of_density;
        row->last[4][x] = 1 / (diagonal->damping + diagonal->conduction * inverse[x]);
    }
}

/* The sums of the neighbours in y and z, for all points of a row. */
static inline __attribute__((always_inline)) void add_row(int n, double t1, double t2, double dissipation,
                                                          const double *restrict u,
                                                          const double *restrict inverse,
                                                          const double *restrict v, int stride, int begin,
                                                          int end, struct row *restrict row)
{
#pragma omp simd
    for (int x = begin; x < end; x++) {
        const double state[5] = {u[x], u[x + stride], u[x + 2 * stride], u[x + 3 * stride],
                                 u[x + 4 * stride]};
        const double change[5] = {v[x], v[x + stride], v[x + 2 * stride], v[x + 3 * stride],
                                  v[x + 4 * stride]};
        double sum[5] = {row->sum[0][x], row->sum[1][x], row->sum[2][x], row->sum[3][x], row->sum[4][x]};
        influence(n, t1, t2, dissipation, state, inverse[x], change, sum);
        row->sum[0][x] = sum[0];
        row->sum[1][x] = sum[1];
        row->sum[2][x] = sum[2];
        row->sum[3][x] = sum[3];
        row->sum[4][x] = sum[4];
    }
}

/* Point after point: `way` is 1 upwards, -1 downwards; the neighbour before is at x - way. The change of a
 * point is keep * v + D^-1 (take * v + scale * sums). */
static inline __attribute__((always_inline)) void solve_row(const struct direction *d, int way, double scale,
                                                            const double *restrict u,
                                                            const double *restrict inverse,
                                                            double *restrict v, int stride, int begin,
                                                            int end, const struct row *restrict row)
{
    const double t1 = d->second, t2 = way * d->first;
    int x = way > 0 ? begin : end - 1;
    double last[5];
    for (int m = 0; m < 5; m++) last[m] = v[x - way + m * stride];
    for (int left = end - begin; left > 0; left--, x += way) {
        const double *state = u + x - way;
        const double neighbour[5] = {state[0], state[stride], state[2 * stride], state[3 * stride],
                                     state[4 * stride]};
        double sum[5] = {row->sum[0][x], row->sum[1][x], row->sum[2][x], row->sum[3][x], row->sum[4][x]};
        influence(1, t1, t2, d->dissipation, neighbour, inverse[x - way], last, sum);
        double right[5], result[5];
        for (int m = 0; m < 5; m++) right[m] = scale * sum[m] + (way > 0 ? v[x + m * stride] : 0);
        result[0] = right[0] * row->density;
        for (int a = 0; a < 3; a++)
            result[a + 1] = (right[a + 1] + row->from_density[a][x] * result[0]) * row->momentum[a][x];
        result[4] = (right[4] + row->last[0][x] * result[0] + row->last[1][x] * result[1] +
                     row->last[2][x] * result[2] + row->last[3][x] * result[3]) *
                    row->last[4][x];
        for (int m = 0; m < 5; m++) {
            last[m] = result[m] + (way > 0 ? 0 : v[x + m * stride]);
            v[x + m * stride] = last[m];
        }
    }
}

static inline __attribute__((always_inline)) void sweep(struct solver *s, int way)
{
    const struct box *box = &s->box;
    const struct diagonal diagonal = diagonal_of(s);
    const int stride = box->row, begin = interior_begin(box, 0), end = interior_end(box, 0), n = box->points;
    const int first = interior_begin(box, 1), rows = interior_end(box, 1) - first;
    const int64_t step_y = way * (at(box, 0, 1, 0) - at(box, 0, 0, 0)),
                  step_z = way * (at(box, 0, 0, 1) - at(box, 0, 0, 0));
    const double scale = OMEGA * s->step;
    static struct row row;
    for (int k = 1; k < n - 1; k++) {
        int z = way > 0 ? k : n - 1 - k;
        edge_receive(box, s->v, z, way > 0);
        for (int j = 0; j < rows && begin < end; j++) {
            int y = way > 0 ? first + j : first + rows - 1 - j;
            const double *u = s->u + at(box, 0, y, z), *inverse = s->inverse + inverse_at(box, 0, y, z);
            double *v = s->v + at(box, 0, y, z);
            prepare_row(&diagonal, u, inverse, stride, begin, end, &row);
            for (int m = 0; m < 5; m++)
                for (int x = begin; x < end; x++) row.sum[m][x] = 0;
            add_row(2, s->along[1].second, way * s->along[1].first, s->along[1].dissipation, u - step_y,
                    inverse - step_y / VARIABLES, v - step_y, stride, begin, end, &row);
            add_row(3, s->along[2].second, way * s->along[2].first, s->along[2].dissipation, u - step_z,
                    inverse - step_z / VARIABLES, v - step_z, stride, begin, end, &row);
            solve_row(&s->along[0], way, scale, u, inverse, v, stride, begin, end, &row);
        }
        edge_send(box, s->v, z, way > 0);
    }
    edge_finish();
}

void lower_sweep(struct solver *s) { sweep(s, 1); }
void upper_sweep(struct solver *s) { sweep(s, -1); }
