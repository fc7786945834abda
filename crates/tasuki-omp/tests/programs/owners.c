/* owners: a library that has threads of its own, and a lock of them in memory of the program's. Without MAIN
 * this is the library. Prints the sum. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

long add_up(void);

#ifndef MAIN
enum { TIMES = 20000 };

static pthread_mutex_t *mutex;
static long sum;

static void *add(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_lock(mutex);
        long before = sum;
        if (i % 100 == 0)
            sched_yield();
        sum = before + 1;
        pthread_mutex_unlock(mutex);
        pthread_mutex_unlock(mutex);
    }
    return unused;
}

long add_up(void) {
    pthread_mutexattr_t again;
    pthread_t threads[2];
    mutex = malloc(sizeof *mutex);
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(mutex, &again);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, add, NULL) != 0)
            abort();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return sum;
}
#else
int main(void) {
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    printf("%d %ld\n", threads, add_up());
    return 0;
}
#endif
