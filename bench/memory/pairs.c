/* pairs [MILLIONS]: random pairs inside of a circle, as in NAS EP: threads share nothing but one sum. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    long millions = argc > 1 ? atol(argv[1]) : 400, inside = 0;
    double begin = omp_get_wtime();
#pragma omp parallel for reduction(+ : inside) schedule(static)
    for (long block = 0; block < millions; block++) {
        unsigned long long state = (unsigned long long)block * 2654435761u + 1;
        for (int i = 0; i < 1000000; i++) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            double x = (double)(state >> 33) / 2147483648.0;
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            double y = (double)(state >> 33) / 2147483648.0;
            inside += x * x + y * y < 1;
        }
    }
    printf("%ld %.6f s\n", inside, omp_get_wtime() - begin);
    return 0;
}
