/* private THREADS: threadprivate variables, built without thread-local storage: each use is a call of the
 * library. Others may use a thread's variable by its place. Prints "good THREADS". */
#include "check.h"
#include <omp.h>

struct Counter {
    int value;
    int *kept;
    Counter() : value(5), kept(new int(7)) {}
    Counter(const Counter &) = delete;
    Counter &operator=(const Counter &other) {
        value = other.value;
        *kept = *other.kept;
        return *this;
    }
    ~Counter() { delete kept; }
};

static Counter counter;
static int plain = 42;
alignas(64) static char wide[5000] = "as it began";
#pragma omp threadprivate(counter, plain, wide)

int main(int argc, char **argv) {
    int threads = omp_get_max_threads(), wrong = 0, handed = 0, sum = 0;
    int *places[256];
    CHECK(argc == 2 && atoi(argv[1]) == threads);
    counter.value = 9;
    plain = 1;
    wide[0] = 'A';
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        wrong += counter.value != (me == 0 ? 9 : 5) || *counter.kept != 7;
        wrong += plain != (me == 0 ? 1 : 42) || wide[0] != (me == 0 ? 'A' : 'a') || wide[1] != 's';
        wrong += (size_t)wide % 64 != 0;
        counter.value += me;
        plain = 100 + me;
        places[me] = &plain;
        /* A region inside has the thread's own. */
#pragma omp parallel num_threads(1) reduction(+ : wrong)
        wrong += plain != 100 + me;
#pragma omp barrier
        *places[(me + 1) % threads] += 1000;
    }
#pragma omp parallel reduction(+ : wrong, sum)
    {
        int me = omp_get_thread_num();
        wrong += counter.value != (me == 0 ? 9 : 5 + me) || plain != 1100 + me;
        sum += plain;
    }
    CHECK(wrong == 0 && sum == 1100 * threads + threads * (threads - 1) / 2);
    counter.value = 77;
    *counter.kept = 8;
#pragma omp parallel copyin(counter) reduction(+ : handed)
    {
        handed += counter.value == 77 && *counter.kept == 8;
#pragma omp single copyprivate(plain)
        plain = 3;
        handed += plain == 3;
    }
    CHECK(handed == 2 * threads);
    printf("good %s\n", argv[1]);
    return 0;
}
