// begins: parallel regions before main, and after it, in handlers and destructors, on a stack in which no
// other host has a part. What main gets by the environment is handed to all threads.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <omp.h>

static double sum_to(int end) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < end; i++)
        sum += i;
    return sum;
}

static double before = sum_to(1000);

struct Last {
    double sums[100];

    Last() {
#pragma omp parallel for
        for (int i = 0; i < 100; i++)
            sums[i] = 2 * i;
    }

    ~Last() {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += sums[i];
        std::printf("destructor %g\n", sum);
    }
};

static Last last;

static void handler() {
    int levels = 0;
#pragma omp parallel if (levels > 0)
    levels += omp_get_level();
    if (levels != 1)
        std::printf("%d levels\n", levels);
    std::printf("handler %g\n", sum_to(300));
}

int main() {
    std::atexit(handler);
    const char *mode = std::getenv("MODE");
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (int i = 0; i < 100; i++)
        wrong += mode == nullptr || std::strcmp(mode, "right") != 0;
    std::printf("main %g %g, %d wrong\n", before, sum_to(2000), wrong);
    return 0;
}
