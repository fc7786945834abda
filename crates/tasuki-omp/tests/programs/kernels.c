/* kernels THREADS: small kernels as they stand in OpenMP codes. What is printed does not depend on the number
 * of threads: integers, and sums rounded to fewer digits than their order can change. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long next_random(unsigned long long *state) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

/* Pairs of uniform numbers inside of a circle, as in EP. */
static void pairs(void) {
    long inside = 0;
#pragma omp parallel for reduction(+ : inside) schedule(static)
    for (int block = 0; block < 64; block++) {
        unsigned long long state = (unsigned long long)block + 1;
        for (int i = 0; i < 2000; i++) {
            double u = (double)next_random(&state) / 2147483648.0;
            double v = (double)next_random(&state) / 2147483648.0;
            inside += u * u + v * v < 1;
        }
    }
    printf("pairs %ld\n", inside);
}

/* Conjugate gradients on the Laplacian of a square, as in CG. */
enum { SIDE = 60, CELLS = SIDE * SIDE };

static double x[CELLS], r[CELLS], p[CELLS], q[CELLS];

static void gradients(void) {
    double rho = 0;
#pragma omp parallel for reduction(+ : rho)
    for (int i = 0; i < CELLS; i++) {
        x[i] = 0;
        r[i] = p[i] = 1 + i % 7;
        rho += r[i] * r[i];
    }
    for (int step = 0; step < 25; step++) {
        double product = 0, next = 0;
#pragma omp parallel
        {
#pragma omp for reduction(+ : product)
            for (int i = 0; i < CELLS; i++) {
                double sum = 4.1 * p[i];
                if (i % SIDE > 0)
                    sum -= p[i - 1];
                if (i % SIDE < SIDE - 1)
                    sum -= p[i + 1];
                if (i >= SIDE)
                    sum -= p[i - SIDE];
                if (i < CELLS - SIDE)
                    sum -= p[i + SIDE];
                q[i] = sum;
                product += p[i] * sum;
            }
            double alpha = rho / product;
#pragma omp for reduction(+ : next)
            for (int i = 0; i < CELLS; i++) {
                x[i] += alpha * p[i];
                r[i] -= alpha * q[i];
                next += r[i] * r[i];
            }
            double beta = next / rho;
#pragma omp for
            for (int i = 0; i < CELLS; i++)
                p[i] = r[i] + beta * p[i];
#pragma omp single
            rho = next;
        }
    }
    double sum = 0;
    for (int i = 0; i < CELLS; i++)
        sum += x[i];
    printf("gradients %.7e %.3e\n", sum, sqrt(rho) < 1e-3 ? 0.0 : rho);
}

/* Counting sort of integer keys, as in IS: each thread counts its keys, and puts them where they belong. */
enum { KEYS = 20000, RANGE = 512 };

static int keys[KEYS], sorted[KEYS], starts[RANGE + 1];

static void sort(void) {
    unsigned long long state = 99;
    int *counts = calloc((size_t)RANGE * (size_t)omp_get_max_threads(), sizeof(int));
    for (int i = 0; i < KEYS; i++)
        keys[i] = (int)(next_random(&state) % RANGE);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        int *mine = counts + me * RANGE;
#pragma omp for schedule(static)
        for (int i = 0; i < KEYS; i++)
            mine[keys[i]]++;
#pragma omp single
        {
            int sum = 0;
            for (int key = 0; key < RANGE; key++) {
                starts[key] = sum;
                for (int t = 0; t < threads; t++) {
                    int count = counts[t * RANGE + key];
                    counts[t * RANGE + key] = sum;
                    sum += count;
                }
            }
            starts[RANGE] = sum;
        }
#pragma omp for schedule(static)
        for (int i = 0; i < KEYS; i++)
            sorted[mine[keys[i]]++] = keys[i];
    }
    long hash = 0;
    int wrong = starts[RANGE] != KEYS;
    for (int i = 0; i < KEYS; i++) {
        hash = (hash * 31 + sorted[i]) % 1000000007;
        wrong |= i > 0 && sorted[i - 1] > sorted[i];
    }
    free(counts);
    printf("sort %ld %s\n", hash, wrong ? "wrong" : "right");
}

/* A pipeline over rows in which each thread waits for the one before it at a flag, as in LU. */
enum { ROWS = 40, COLUMNS = 400 };

static double grid[ROWS][COLUMNS];
static volatile int flags[256][16];

static void pipeline(void) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            grid[i][j] = (i * 13 + j * 7) % 11;
    memset((void *)flags, 0, sizeof(flags));
#pragma omp parallel
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        int from = COLUMNS * me / threads, to = COLUMNS * (me + 1) / threads;
        for (int i = 1; i < ROWS; i++) {
            while (me > 0 && flags[me - 1][0] < i) {
#pragma omp flush
            }
            for (int j = from > 0 ? from : 1; j < to; j++)
                grid[i][j] = 0.5 * grid[i][j] + 0.25 * (grid[i - 1][j] + grid[i][j - 1]);
#pragma omp flush
            flags[me][0] = i;
        }
    }
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum += grid[i][j] * (i + 1);
    printf("pipeline %.10e\n", sum);
}

/* Bodies that attract each other, a task for some of them at a time. */
enum { BODIES = 96 };

static double place[BODIES][2], speed[BODIES][2];

static void move(int from, int to) {
    for (int i = from; i < to; i++)
        for (int j = 0; j < BODIES; j++) {
            double dx = place[j][0] - place[i][0], dy = place[j][1] - place[i][1];
            double force = 1e-3 / pow(dx * dx + dy * dy + 0.01, 1.5);
            speed[i][0] += force * dx;
            speed[i][1] += force * dy;
        }
}

static void bodies(void) {
    unsigned long long state = 7;
    for (int i = 0; i < BODIES; i++) {
        place[i][0] = (double)(next_random(&state) % 1000) / 1000;
        place[i][1] = (double)(next_random(&state) % 1000) / 1000;
        speed[i][0] = speed[i][1] = 0;
    }
    for (int step = 0; step < 5; step++) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < BODIES; i += 16) {
#pragma omp task firstprivate(i)
            move(i, i + 16);
        }
#pragma omp parallel for
        for (int i = 0; i < BODIES; i++) {
            place[i][0] += speed[i][0];
            place[i][1] += speed[i][1];
        }
    }
    double sum = 0;
    for (int i = 0; i < BODIES; i++)
        sum += place[i][0] * place[i][0] + 2 * place[i][1] * speed[i][1];
    printf("bodies %.7e\n", sum);
}

int main(int argc, char **argv) {
    if (argc != 2 || atoi(argv[1]) != omp_get_max_threads())
        return 2;
    pairs();
    gradients();
    sort();
    pipeline();
    bodies();
    return 0;
}
