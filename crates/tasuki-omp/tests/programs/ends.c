/* ends return|exit|serial|spin RANK: how programs end. With "spin" the thread of that rank kills its process,
 * while the others wait for it at a flag that it never sets. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int flag;
static int sum;

static void handler(void) {
    printf("handler %d\n", sum);
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    atexit(handler);
    if (strcmp(argv[1], "spin") == 0) {
        int rank = atoi(argv[2]);
#pragma omp parallel
        {
            if (omp_get_thread_num() == rank) {
                usleep(200000);
                kill(getpid(), SIGKILL);
            }
            while (!flag)
                ;
        }
        return 3;
    }
#pragma omp parallel reduction(+ : sum)
    sum += 1;
    printf("no end of line");
    if (strcmp(argv[1], "exit") == 0)
        exit(7);
    if (strcmp(argv[1], "serial") == 0) {
#pragma omp parallel if (0)
        exit(7);
    }
    return 7;
}
