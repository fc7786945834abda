/* shares ROUNDS: pages that move between threads for four reasons, each in a variable of its own. Threads
 * take turns, ROUNDS times each, so that what moves does not depend on time. The test finds places by their
 * marks. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096, WORDS = PAGE / sizeof(long), FILLED = 64 };

static long beside[WORDS] __attribute__((aligned(PAGE)));
static long same[WORDS] __attribute__((aligned(PAGE)));
static long passed[WORDS] __attribute__((aligned(PAGE)));

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    long *filled = malloc(FILLED * PAGE); /* mark: filled */
    for (long i = 0; i < FILLED * WORDS; i++)
        filled[i] = i;
    long sum = 0;
#pragma omp parallel reduction(+ : sum) /* mark: region */
    {
        int me = omp_get_thread_num();
        for (long round = 0; round < rounds; round++)
            for (int turn = 0; turn < omp_get_num_threads(); turn++) {
                if (me == turn) {
                    beside[me * 16] += round + 1; /* mark: beside */
                    same[7]++;                    /* mark: same */
                }
#pragma omp barrier
                if (turn == 0) {
                    if (me == 0)
                        for (int i = 0; i < WORDS; i++)
                            passed[i] += 3; /* mark: passed */
#pragma omp barrier
                    sum += passed[round % WORDS];
                }
            }
#pragma omp for
        for (long i = 0; i < FILLED * WORDS; i++)
            sum += filled[i];
    }
    long counted = 0;
    for (int i = 0; i < WORDS; i++)
        counted += beside[i];
    printf("%ld %ld %ld\n", sum, counted, same[7]);
    return 0;
}
