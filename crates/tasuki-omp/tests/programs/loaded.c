/* Whether a library is there that was to be loaded before the program, in all threads, and which ones
 * programs that it starts have to load. With ADDED: that library. */
#ifdef ADDED
int added(void) {
    return 1;
}
#else
#include <stdio.h>
#include <stdlib.h>

int added(void) __attribute__((weak));

int main(void) {
    int has = 1;
#pragma omp parallel reduction(&& : has)
    has = added && added();
    printf("%s, and a child has ", has ? "yes" : "no");
    fflush(stdout);
    return system("echo $LD_PRELOAD");
}
#endif
