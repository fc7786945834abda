/* reductions THREADS: tasks add to variables of the group, the loop or the region around them (OpenMP 5.0,
 * 2.19.5). Prints "good THREADS". */
#include "check.h"
#include <omp.h>

static void groups(void) {
    long sum = 5, product = 1, inner = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(* : product)
    {
        for (int i = 1; i <= 10; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(* : product)
            {
                sum += i;
                product *= i;
                /* A task of a task. */
#pragma omp task in_reduction(+ : sum)
                sum += 100;
#pragma omp taskwait
            }
        }
#pragma omp taskgroup task_reduction(+ : inner)
        {
#pragma omp task in_reduction(+ : inner, sum)
            {
                inner += 7;
                sum += 1000;
            }
        }
#pragma omp task in_reduction(+ : sum)
        sum += 10000;
    }
    CHECK(sum == 5 + 55 + 1000 + 1000 + 10000 && product == 3628800 && inner == 7);
}

/* A group of the thread that comes here. */
static long own(int count) {
    long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    for (int i = 1; i <= count; i++) {
#pragma omp task in_reduction(+ : sum)
        sum += i;
    }
    return sum;
}

static void loops(void) {
    const unsigned long long high = 18446744073709551600ULL;
    volatile int five = 5;
    long sum = 0, none = 3;
    unsigned long long last = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop reduction(+ : sum) grainsize(3)
        for (int i = 0; i < 40; i++)
            sum += i;
#pragma omp taskloop reduction(+ : none)
        for (int i = five; i < 5; i++)
            none += 100;
#pragma omp taskloop reduction(+ : last)
        for (unsigned long long i = high; i < high + 10; i++)
            last += i - high;
    }
    CHECK(sum == 780 && none == 3 && last == 45);
}

static void regions(int threads) {
    long sum = 0, alone = 0;
    int counts[4] = {0};
#pragma omp parallel reduction(task, + : sum, counts)
    {
        sum += 1;
#pragma omp task in_reduction(+ : sum, counts)
        {
            sum += 10;
            counts[2]++;
        }
        counts[3] += 2;
    }
    CHECK(sum == 11L * threads && counts[2] == threads && counts[3] == 2 * threads && counts[0] == 0);
#pragma omp parallel num_threads(1) reduction(task, + : alone)
    {
#pragma omp task in_reduction(+ : alone)
        alone += 10;
    }
    CHECK(alone == 10);
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads();
    long all = 0;
    CHECK(argc == 2 && atoi(argv[1]) == threads);
    for (int round = 0; round < 3; round++) {
        groups();
        loops();
        regions(threads);
    }
#pragma omp parallel reduction(+ : all)
    all += own(omp_get_thread_num() + 3);
    all -= own(2);
    for (int thread = 0; thread < threads; thread++)
        all -= (thread + 3) * (thread + 4) / 2;
    CHECK(all == -3);
    printf("good %s\n", argv[1]);
    return 0;
}
