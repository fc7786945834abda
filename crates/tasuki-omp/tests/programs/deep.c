/* deep MEGABYTES: every thread writes to so much of its stack, waits for the others, and looks whether it is
 * all there. Prints the number of threads where it is. */
#include <alloca.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int kept(size_t bytes, int mark) {
    volatile char *memory = alloca(bytes);
    for (size_t at = bytes; at-- > 0;)
        memory[at] = (char)mark;
#pragma omp barrier
    size_t same = 0;
    for (size_t at = 0; at < bytes; at++)
        same += memory[at] == (char)mark;
    return same == bytes;
}

int main(int argc, char **argv) {
    size_t bytes = argc == 2 ? (size_t)atol(argv[1]) << 20 : 0;
    int good = 0;
#pragma omp parallel reduction(+ : good)
    good += kept(bytes, omp_get_thread_num() + 1);
    printf("%d\n", good);
    return 0;
}
