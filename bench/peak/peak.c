/* How many multiplications and additions of doubles one core makes per second at most: fused, independent of
 * each other, in its widest vector registers. The peak of which Linpack is said to reach a share. */
#include <stdio.h>
#include <time.h>

#if defined __AVX512F__
#define BYTES 64
#elif defined __AVX__
#define BYTES 32
#else
#define BYTES 16
#endif

typedef double vector __attribute__((vector_size(BYTES)));

/* Enough chains for two units of four cycles' latency, few enough for sixteen registers. */
enum { CHAINS = 12, ROUNDS = 1 << 20, REPEATS = 40, LANES = BYTES / sizeof(double) };

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One round of all chains is x <- a x + b, which ends at b / (1 - a): neither too large nor too small for
 * full speed. */
static double chains(double first)
{
    vector x[CHAINS], a, b;
    for (int i = 0; i < LANES; i++) a[i] = 0.5, b[i] = first;
    for (int c = 0; c < CHAINS; c++) x[c] = b + c;
    for (int round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) x[c] = x[c] * a + b;
    }
    double sum = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < LANES; i++) sum += x[c][i];
    return sum;
}

/* The best of many: other programs only slow it down. */
int main(int argc, char **argv)
{
    double best = 0, sum = 0;
    (void)argv;
    for (int i = 0; i < REPEATS; i++) {
        double begin = seconds();
        sum += chains(argc); /* which the compiler does not know */
        double speed = 2e-6 * CHAINS * LANES * ROUNDS / (seconds() - begin);
        if (speed > best) best = speed;
    }
    if (sum != REPEATS * 2.0 * CHAINS * LANES) return 1;
    printf("Mflop/s = %.1f\n", best);
    return 0;
}
