/* signals THREADS: signals that the program blocks and waits for, and handlers that come at any time and
 * write to a page that all threads write to. Prints "good THREADS". */
#include "check.h"
#include <omp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* In one page. */
static volatile long ticks;
static long count, others;

static void tick(int signal) {
    (void)signal;
    ticks++;
}

/* A signal for the process that all its threads block waits for the one that asks for it. */
static void waited_for(void) {
    struct timespec limit = {60, 0};
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &wanted, NULL) == 0);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    CHECK(sigtimedwait(&wanted, NULL, &limit) == SIGUSR1);
}

/* Threads of a region block what the thread does that has come to it. */
static void inherited(int threads) {
    int same = 0;
#pragma omp parallel reduction(+ : same)
    {
        sigset_t now;
        CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
        same += sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGTERM) == 0;
    }
    CHECK(same == threads);
}

/* Most of the time threads are in the middle of a critical section, or before or behind one. */
static void handled(int threads) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
#pragma omp parallel
    for (int i = 0; i < 2000; i++) {
#pragma omp critical
        count++;
#pragma omp atomic
        others++;
    }
    while (ticks == 0)
        ;
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(count == 2000L * threads && others == 2000L * threads);
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads();
    CHECK(argc == 2 && atoi(argv[1]) == threads);
    waited_for();
    inherited(threads);
    handled(threads);
    printf("good %s\n", argv[1]);
    return 0;
}
