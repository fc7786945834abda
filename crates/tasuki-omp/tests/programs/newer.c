/* newer THREADS [error]: what clang makes of OpenMP 5.0 and newer; what newer ones than clang 14 make of it
 * is called by hand. Prints "good THREADS". */
#include "check.h"
#include <omp.h>
#include <string.h>

void *__kmpc_aligned_alloc(int thread, size_t align, size_t bytes, size_t allocator);
void *__kmpc_calloc(int thread, size_t count, size_t bytes, size_t allocator);
void *__kmpc_realloc(int thread, void *memory, size_t bytes, size_t allocator, size_t before);
void __kmpc_free(int thread, void *memory, size_t allocator);
void __kmpc_error(void *place, int severity, const char *message);

/* 5.0, 2.19.5: tasks add to what the region or the loop adds up. */
static void reductions(int threads) {
    long sum = 0, all = 0;
#pragma omp parallel reduction(task, + : sum)
    {
        sum += 1;
#pragma omp task in_reduction(+ : sum)
        sum += 10;
#pragma omp task in_reduction(+ : sum)
        sum += 100;
    }
    CHECK(sum == 111L * threads);
#pragma omp parallel
#pragma omp for reduction(task, + : all)
    for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : all)
        all += i;
    }
    CHECK(all == 1225);
}

/* 2.12.5: the host is the device, also for a task. */
static void devices(void) {
    int done = 0, teams = 0;
#pragma omp target map(tofrom : done) nowait
    done = 7;
#pragma omp taskwait
#pragma omp target teams map(tofrom : teams) num_teams(2) reduction(+ : teams)
    teams++;
    CHECK(done == 7 && teams == 2);
}

/* Memory of one thread that others write to. */
static void memory(int threads) {
    enum { MANY = 3000 };
    int *of[256], wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        char *aligned = __kmpc_aligned_alloc(me, 512, 100, 0);
        wrong += aligned == NULL || (size_t)aligned % 512 != 0;
        memset(aligned, 1, 100);
        __kmpc_free(me, aligned, 0);
        of[me] = __kmpc_calloc(me, MANY, sizeof(int), 0);
        for (int i = 0; i < MANY; i++)
            wrong += of[me][i] != 0;
        of[me] = __kmpc_realloc(me, of[me], 2 * MANY * sizeof(int), 0, 0);
#pragma omp barrier
        of[(me + 1) % threads][MANY + me] = me + 1;
    }
    for (int me = 0; me < threads; me++) {
        CHECK(of[(me + 1) % threads][MANY + me] == me + 1);
    }
    for (int me = 0; me < threads; me++)
        __kmpc_free(0, of[me], 0);
    CHECK(wrong == 0);
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads();
    CHECK(argc >= 2 && atoi(argv[1]) == threads);
    reductions(threads);
    devices();
    memory(threads);
    __kmpc_error(NULL, 1, "not well");
    if (argc > 2)
        __kmpc_error(NULL, 2, "not at all");
    printf("good %s\n", argv[1]);
    return 0;
}
