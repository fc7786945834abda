/* EP: pairs of Gaussian deviates by acceptance and rejection (RNR-94-007, section 2.2). No messages but three
 * sums at the end. Pairs are made LANES at a time, each lane with its own place in the sequence of random
 * numbers, so that generator, square root and logarithm run in vector registers. */
#include "common/nas.h"

#include <math.h>
#include <stdio.h>

enum { LANES = 32, ANNULI = 10 };

/* Sums of the deviates and how many pairs were accepted: RNR-94-007, section 2.2.4 (A), sample (S), NPB 2.2
 * (W, B). */
static const struct problem {
    char class;
    int pairs_log2;
    double sum_x, sum_y;
    int64_t accepted;
} problems[] = {
    {'S', 24, -3.247834652034740e3, -6.958407078382297e3, 13176389},
    {'W', 25, -2.863319731645753e3, -6.320053679109499e3, 26354769},
    {'A', 28, -4.295875165629892e3, -1.580732573678431e4, 210832767},
    {'B', 30, 4.033815542441498e4, -2.660669192809235e4, 843345606},
};

struct sums {
    double x[LANES], y[LANES];
    int64_t at_least[ANNULI][LANES]; /* accepted pairs whose larger deviate is at least so much */
};

/* `count` pairs from the `first` on. */
static void make_pairs(struct sums *sums, uint64_t first, uint64_t count)
{
    uint64_t even[LANES], odd[LANES];
    const uint64_t stride = nas_power(NAS_MULTIPLIER, 2 * LANES);
    uint64_t seed = nas_step(271828183, nas_power(NAS_MULTIPLIER, 2 * first));
    for (int lane = 0; lane < LANES; lane++) {
        even[lane] = seed = nas_step(seed, NAS_MULTIPLIER);
        odd[lane] = seed = nas_step(seed, NAS_MULTIPLIER);
    }
    struct sums s = *sums;
    for (uint64_t done = 0; done < count; done += LANES) {
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++) {
            double x = 2 * nas_uniform(even[lane]) - 1, y = 2 * nas_uniform(odd[lane]) - 1;
            even[lane] = nas_step(even[lane], stride);
            odd[lane] = nas_step(odd[lane], stride);
            double t = x * x + y * y;
            double inside = t <= 1 ? t : 1; /* rejected: factor 0 */
            double factor = sqrt(-2 * log(inside) / inside);
            x *= factor;
            y *= factor;
            s.x[lane] += x;
            s.y[lane] += y;
            double larger = fmax(fabs(x), fabs(y));
            larger = t <= 1 ? larger : -1;
            for (int l = 0; l < ANNULI; l++) s.at_least[l][lane] += larger >= l;
        }
    }
    *sums = s;
}

static void add_up(const struct sums *sums, double total[2], double annuli[ANNULI])
{
    double mine[2] = {0, 0}, here[ANNULI];
    for (int lane = 0; lane < LANES; lane++) {
        mine[0] += sums->x[lane];
        mine[1] += sums->y[lane];
    }
    for (int l = 0; l < ANNULI; l++) {
        here[l] = 0;
        for (int lane = 0; lane < LANES; lane++)
            here[l] += (double)(sums->at_least[l][lane] - (l + 1 < ANNULI ? sums->at_least[l + 1][lane] : 0));
    }
    MPI_Allreduce(&mine[0], &total[0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], &total[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(here, annuli, ANNULI, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static bool counts_are_right(const double annuli[ANNULI], int64_t accepted)
{
    double all = 0;
    for (int l = 0; l < ANNULI; l++) {
        nas_say(" annulus %d  %20.0f\n", l, annuli[l]);
        all += annuli[l];
    }
    nas_say(" pairs      %20.0f %s\n", all, all == (double)accepted ? "" : "FAILURE");
    return all == (double)accepted;
}

static void run_ep(const struct nas_run *run, struct nas_result *result)
{
    static struct sums sums;
    const struct problem *problem = problems;
    while (problem->class != run->class) problem++;
    uint64_t pairs = UINT64_C(1) << problem->pairs_log2, mine = pairs / (uint64_t)run->ranks;
    double total[2], annuli[ANNULI];

    nas_start();
    make_pairs(&sums, mine * (uint64_t)run->rank, mine);
    add_up(&sums, total, annuli);
    result->seconds = nas_stop();

    bool right = counts_are_right(annuli, problem->accepted);
    right &= nas_agrees("sum of X", total[0], problem->sum_x, 1e-8);
    right &= nas_agrees("sum of Y", total[1], problem->sum_y, 1e-8);
    snprintf(result->size, sizeof result->size, "%llu", (unsigned long long)(2 * pairs));
    result->iterations = 0;
    result->operations = 1e-6 * 2 * (double)pairs;
    result->verified = right;
}

const struct nas_kernel nas_kernel = {"EP", "random numbers", "SWAB", 64, run_ep};
