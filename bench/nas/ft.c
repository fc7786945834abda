/* FT: a diffusion equation solved with three-dimensional Fourier transforms (RNR-94-007, section 2.6).
 *
 * Physical space is cut along y, Fourier space along x. A rank's part of either is kept as blocks
 * [other rank][y][x][z] or, the same bytes, [y][x][z] once they have arrived: blocks travel as they are, and
 * the transforms pick their lines from them. */
#include "ft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ITERATIONS = 20, POINTS = 1024 };

/* Checksums of every iteration: RNR-94-007, section 2.6.4 (A; S is its sample), NPB 2.2 (W, B). */
static const struct problem {
    char class;
    int x, y, z, iterations;
    struct complex_number sum[MOST_ITERATIONS];
} problems[] = {
    {'S', 64, 64, 64, 6,
     {{5.546087004964e2, 4.845363331978e2}, {5.546385409189e2, 4.865304269511e2},
      {5.546148406171e2, 4.883910722336e2}, {5.545423607415e2, 4.901273169046e2},
      {5.544255039624e2, 4.917475857993e2}, {5.542683411902e2, 4.932597244941e2}}},
    {'W', 128, 128, 32, 6,
     {{5.673612178944e2, 5.293246849175e2}, {5.631436885271e2, 5.282149986629e2},
      {5.594024089970e2, 5.270996558037e2}, {5.560698047020e2, 5.260027904925e2},
      {5.530898991250e2, 5.249400845633e2}, {5.504159734538e2, 5.239212247086e2}}},
    {'A', 256, 256, 128, 6,
     {{5.046735008193e2, 5.114047905510e2}, {5.059412319734e2, 5.098809666433e2},
      {5.069376896287e2, 5.098144042213e2}, {5.077892868474e2, 5.101336130759e2},
      {5.085233095391e2, 5.104914655194e2}, {5.091487099959e2, 5.107917842803e2}}},
    {'B', 512, 256, 256, 20,
     {{5.177643571579e2, 5.077803458597e2}, {5.154521291263e2, 5.088249431599e2},
      {5.146409228649e2, 5.096208912659e2}, {5.142378756213e2, 5.101023387619e2},
      {5.139626667737e2, 5.103976610617e2}, {5.137423460082e2, 5.105948019802e2},
      {5.135547056878e2, 5.107404165783e2}, {5.133910925466e2, 5.108576573661e2},
      {5.132470705390e2, 5.109577278523e2}, {5.131197729984e2, 5.110460304483e2},
      {5.130070319283e2, 5.111252433800e2}, {5.129070537032e2, 5.111968077718e2},
      {5.128182883502e2, 5.112616233064e2}, {5.127393733383e2, 5.113203605551e2},
      {5.126691062020e2, 5.113735928093e2}, {5.126064276004e2, 5.114218460548e2},
      {5.125504076570e2, 5.114656139760e2}, {5.125002331720e2, 5.115053595966e2},
      {5.124551951846e2, 5.115415130407e2}, {5.124146770029e2, 5.115744692211e2}}},
};

struct state {
    const struct problem *problem;
    int rank, ranks, x, y;              /* this rank's lines in x (Fourier space) and in y (physical space) */
    struct transform along_x, along_y, along_z;
    double decay_x[LONGEST], decay_y[LONGEST], decay_z[LONGEST]; /* of a Fourier component in one time step */
    struct complex_number *fourier, *work, *physical;
};

/* Element 0 of the line along z at (x, y), y counted from this rank's first one, in physical space. */
static int64_t line_at(const struct state *s, int x, int y)
{
    return (((int64_t)(x / s->x) * s->y + y) * s->x + x % s->x) * s->problem->z;
}

/* LANES neighbours, interleaved in memory, to and from row i of the lines. */
static inline void load(struct lines *lines, int i, const struct complex_number *from)
{
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) {
        lines->re[i * LANES + lane] = from[lane].re;
        lines->im[i * LANES + lane] = from[lane].im;
    }
}

static inline void store(const struct lines *lines, int i, struct complex_number *to)
{
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) {
        to[lane].re = lines->re[i * LANES + lane];
        to[lane].im = lines->im[i * LANES + lane];
    }
}

/* The same with re and im exchanged: around a forward transform this makes the inverse one. */
static inline void load_inverse(struct lines *lines, int i, const struct complex_number *from)
{
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) {
        lines->re[i * LANES + lane] = from[lane].im;
        lines->im[i * LANES + lane] = from[lane].re;
    }
}

static inline void store_inverse(const struct lines *lines, int i, struct complex_number *to)
{
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) {
        to[lane].im = lines->re[i * LANES + lane];
        to[lane].re = lines->im[i * LANES + lane];
    }
}

static struct lines first, second;

/* Along x and z, in place, for one y: what lies in a plane stays in the second-level cache in between. */
static void transform_plane(struct state *s, struct complex_number *data, int y, bool inverse)
{
    int nx = s->problem->x, nz = s->problem->z;
    for (int z = 0; z < nz; z += LANES) {
        for (int x = 0; x < nx; x++)
            (inverse ? load_inverse : load)(&first, x, data + line_at(s, x, y) + z);
        struct lines *result = transform_lines(&s->along_x, &first, &second);
        for (int x = 0; x < nx; x++)
            (inverse ? store_inverse : store)(result, x, data + line_at(s, x, y) + z);
    }
    for (int x = 0; x < nx; x += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            const struct complex_number *line = data + line_at(s, x + lane, y);
            for (int z = 0; z < nz; z++) {
                first.re[z * LANES + lane] = inverse ? line[z].im : line[z].re;
                first.im[z * LANES + lane] = inverse ? line[z].re : line[z].im;
            }
        }
        struct lines *result = transform_lines(&s->along_z, &first, &second);
        for (int lane = 0; lane < LANES; lane++) {
            struct complex_number *line = data + line_at(s, x + lane, y);
            for (int z = 0; z < nz; z++) {
                double re = result->re[z * LANES + lane], im = result->im[z * LANES + lane];
                line[z] = inverse ? (struct complex_number){im, re} : (struct complex_number){re, im};
            }
        }
    }
}

/* Forward along y, in place. */
static void transform_y(struct state *s, struct complex_number *data)
{
    int64_t row = (int64_t)s->x * s->problem->z;
    for (int64_t at = 0; at < row; at += LANES) {
        for (int y = 0; y < s->problem->y; y++) load(&first, y, data + y * row + at);
        struct lines *result = transform_lines(&s->along_y, &first, &second);
        for (int y = 0; y < s->problem->y; y++) store(result, y, data + y * row + at);
    }
}

/* One time step in Fourier space, and the inverse transform along y of what comes of it, in one pass. */
static void evolve_y(struct state *s, struct complex_number *data, struct complex_number *out)
{
    int nz = s->problem->z;
    int64_t row = (int64_t)s->x * nz;
    for (int64_t at = 0; at < row; at += LANES) {
        double across[LANES];
        for (int lane = 0; lane < LANES; lane++)
            across[lane] = s->decay_x[s->rank * s->x + at / nz] * s->decay_z[at % nz + lane];
        for (int y = 0; y < s->problem->y; y++) {
            struct complex_number *here = data + y * row + at;
            double decay = s->decay_y[y];
#pragma omp simd
            for (int lane = 0; lane < LANES; lane++) {
                here[lane].re *= decay * across[lane];
                here[lane].im *= decay * across[lane];
            }
            load_inverse(&first, y, here);
        }
        struct lines *result = transform_lines(&s->along_y, &first, &second);
        for (int y = 0; y < s->problem->y; y++) store_inverse(result, y, out + y * row + at);
    }
}

/* Blocks to the ranks that have their y (or their x): the cut changes from one direction to the other. */
static void change_cut(const struct state *s, const struct complex_number *out, struct complex_number *in)
{
    int block = 2 * s->x * s->y * s->problem->z;
    MPI_Alltoall(out, block, MPI_DOUBLE, in, block, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void generate(struct state *s, struct complex_number *data)
{
    int nx = s->problem->x, ny = s->problem->y;
    for (int y = 0; y < s->y; y++)
        for (int z = 0; z < s->problem->z; z++) {
            uint64_t before = ((uint64_t)z * (uint64_t)ny + (uint64_t)(s->rank * s->y + y)) * (uint64_t)nx;
            uint64_t seed = nas_step(314159265, nas_power(NAS_MULTIPLIER, 2 * before));
            for (int x = 0; x < nx; x++) {
                struct complex_number *to = data + line_at(s, x, y) + z;
                seed = nas_step(seed, NAS_MULTIPLIER);
                to->re = nas_uniform(seed);
                seed = nas_step(seed, NAS_MULTIPLIER);
                to->im = nas_uniform(seed);
            }
        }
}

static void decay_along(double *decay, int length)
{
    const double alpha = 1e-6, pi = 3.14159265358979323846;
    for (int i = 0; i < length; i++) {
        double k = i < length / 2 ? i : i - length;
        decay[i] = exp(-4 * alpha * pi * pi * k * k);
    }
}

static struct complex_number checksum(const struct state *s, const struct complex_number *data)
{
    struct complex_number mine = {0, 0}, all;
    for (int j = 1; j <= POINTS; j++) {
        int x = j % s->problem->x, y = 3 * j % s->problem->y, z = 5 * j % s->problem->z;
        if (y / s->y != s->rank) continue;
        const struct complex_number *value = data + line_at(s, x, y % s->y) + z;
        mine.re += value->re;
        mine.im += value->im;
    }
    MPI_Allreduce(&mine, &all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double points = (double)s->problem->x * s->problem->y * s->problem->z;
    return (struct complex_number){all.re / points, all.im / points};
}

/* Random numbers, and their transform. With one rank both cuts are the same. */
static void begin(struct state *s)
{
    struct complex_number *start = s->ranks > 1 ? s->work : s->fourier;
    generate(s, start);
    for (int y = 0; y < s->y; y++) transform_plane(s, start, y, false);
    if (s->ranks > 1) change_cut(s, s->work, s->fourier);
    transform_y(s, s->fourier);
}

static struct complex_number iterate(struct state *s)
{
    evolve_y(s, s->fourier, s->work);
    if (s->ranks > 1) change_cut(s, s->work, s->physical);
    for (int y = 0; y < s->y; y++) transform_plane(s, s->physical, y, true);
    return checksum(s, s->physical);
}

static void prepare(struct state *s, const struct nas_run *run)
{
    s->problem = problems;
    while (s->problem->class != run->class) s->problem++;
    s->rank = run->rank;
    s->ranks = run->ranks;
    s->x = s->problem->x / run->ranks;
    s->y = s->problem->y / run->ranks;
    transform_prepare(&s->along_x, s->problem->x);
    transform_prepare(&s->along_y, s->problem->y);
    transform_prepare(&s->along_z, s->problem->z);
    decay_along(s->decay_x, s->problem->x);
    decay_along(s->decay_y, s->problem->y);
    decay_along(s->decay_z, s->problem->z);
    size_t mine = (size_t)s->x * (size_t)s->problem->y * (size_t)s->problem->z;
    s->fourier = nas_memory(mine, sizeof *s->fourier);
    s->work = nas_memory(mine, sizeof *s->work);
    s->physical = run->ranks > 1 ? nas_memory(mine, sizeof *s->physical) : s->work;
}

static void run_ft(const struct nas_run *run, struct nas_result *result)
{
    static struct state s;
    struct complex_number sums[MOST_ITERATIONS];
    prepare(&s, run);
    begin(&s);
    iterate(&s); /* touches all memory */
    nas_start();
    begin(&s);
    for (int i = 0; i < s.problem->iterations; i++) sums[i] = iterate(&s);
    result->seconds = nas_stop();

    bool right = true;
    for (int i = 0; i < s.problem->iterations; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d re", i + 1);
        right &= nas_agrees(name, sums[i].re, s.problem->sum[i].re, 1e-12);
        snprintf(name, sizeof name, "%d im", i + 1);
        right &= nas_agrees(name, sums[i].im, s.problem->sum[i].im, 1e-12);
    }
    double points = (double)s.problem->x * s.problem->y * s.problem->z, logarithm = log(points);
    snprintf(result->size, sizeof result->size, "%dx%dx%d", s.problem->x, s.problem->y, s.problem->z);
    result->iterations = s.problem->iterations;
    result->operations =
        1e-6 * points *
        (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * result->iterations);
    result->verified = right;
}

const struct nas_kernel nas_kernel = {"FT", "floating point", "SWAB", 64, run_ft};
