/* tasuki-mpi-bench: MPI tests with verified contents, one JSON line per test and message size.
 *
 *   mpicc -O2 -std=c11 -o tasuki-mpi-bench *.c -lm
 *   mpirun -n 4 ./tasuki-mpi-bench --seconds 0.5 pingpong:8,65536 stream:65536 barrier alltoall:1024 \
 *       heat:4096
 *
 * Options: --seconds S   time per test and size (default 0.5; a point takes at most about three times that,
 *                        or three batches of one operation)
 *          --samples N   batches per point (default 50)
 *          --calls N     time N calls of each point one by one, instead
 *
 * A line's "samples" are seconds per message (pingpong: half a round trip) or per operation, one for each
 * batch of "iterations" (with --calls: for each call, as rank 0 sees it). "cpu_s" is user and system time of
 * the ranks that took part, "moved_bytes" the payload that they moved meanwhile. Exit code 3: something
 * arrived damaged (standard error says what). */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct test *const tests[] = {&test_pingpong,  &test_stream,   &test_away, &test_barrier,
                                           &test_allreduce, &test_alltoall, &test_heat, &test_halo};
enum { TESTS = sizeof tests / sizeof *tests };

/* int counts of MPI, and buffers that fit anywhere. */
static const size_t LARGEST = (size_t)1 << 30;

static int usage(const struct run *run, const char *what, const char *word) {
    if (run->rank == 0) {
        fprintf(stderr, "tasuki-mpi-bench: %s: %s\n", what, word);
        fprintf(stderr, "usage: tasuki-mpi-bench [--seconds S] [--samples N | --calls N] "
                        "TEST[:BYTES,BYTES...] ...\n");
    }
    return EXIT_USAGE;
}

/* Takes "--seconds S" and the like. Returns the words used up; 0: not an option; -1: not understood. */
static int take_option(struct run *run, int words, char **word) {
    char *end;
    if (strncmp(word[0], "--", 2) != 0)
        return 0;
    if (words < 2)
        return -1;
    errno = 0;
    if (!strcmp(word[0], "--seconds")) {
        run->seconds = strtod(word[1], &end);
        return *end || errno || !(run->seconds > 0 && run->seconds <= 3600) ? -1 : 2;
    }
    long number = strtol(word[1], &end, 10);
    if (*end || end == word[1] || errno)
        return -1;
    if (!strcmp(word[0], "--samples")) {
        run->samples = (int)number;
        return number < 1 || number > MAX_SAMPLES ? -1 : 2;
    }
    if (!strcmp(word[0], "--calls")) {
        run->calls = (int)number;
        return number < 1 || number > MAX_CALLS ? -1 : 2;
    }
    /* For the tests of this program: that rank sends a damaged byte in each message. */
    if (!strcmp(word[0], "--corrupt-rank")) {
        run->corrupt_rank = (int)number;
        return number < 0 || number >= run->ranks ? -1 : 2;
    }
    return -1;
}

static const struct test *find_test(const char *name, size_t length) {
    for (int i = 0; i < TESTS; i++)
        if (strlen(tests[i]->name) == length && !strncmp(tests[i]->name, name, length))
            return tests[i];
    return NULL;
}

/* Reads the next size of a list; moves *list behind it. 0: not a size that this test takes. */
static int next_size(const struct run *run, const struct test *test, const char **list, size_t *bytes) {
    char *end;
    if (**list < '0' || **list > '9')
        return 0;
    errno = 0;
    unsigned long long size = strtoull(*list, &end, 10);
    if (errno || (*end && *end != ',') || size > LARGEST || size < test->minimum || size % test->multiple ||
        size < test->minimum_per_rank * (size_t)run->ranks)
        return 0;
    *list = *end ? end + 1 : end;
    *bytes = (size_t)size;
    return 1;
}

static int refuse_size(const struct run *run, const struct test *test, const char *word) {
    size_t least = test->minimum_per_rank * (size_t)run->ranks;
    char what[160];
    snprintf(what, sizeof what, "%s takes sizes from %zu to %zu bytes in multiples of %zu", test->name,
             least > test->minimum ? least : test->minimum, LARGEST, test->multiple);
    return usage(run, what, word);
}

/* One word of the command line: a test with its sizes. With `dry` it is only checked. */
static int take_test(const struct run *run, const char *word, int dry) {
    size_t length = strcspn(word, ":"), bytes;
    const struct test *test = find_test(word, length);
    const char *list = word[length] ? word + length + 1 : "0";
    if (!test)
        return usage(run, "no such test", word);
    if (test->only_pair && run->ranks < 2)
        return usage(run, "this test needs two ranks", word);
    do {
        if (!next_size(run, test, &list, &bytes))
            return refuse_size(run, test, word);
        int result = dry ? 0 : measure(run, test, bytes);
        if (result)
            return result;
    } while (*list);
    return 0;
}

/* Finds out which ranks share a host, by processor name, and who plays ping-pong with rank 0. */
static int find_hosts(struct run *run) {
    enum { NAME = MPI_MAX_PROCESSOR_NAME };
    char mine[NAME] = "";
    char *all = calloc((size_t)run->ranks, NAME);
    int length;
    if (!all)
        return EXIT_MEMORY;
    MPI_Get_processor_name(mine, &length);
    MPI_Allgather(mine, NAME, MPI_CHAR, all, NAME, MPI_CHAR, MPI_COMM_WORLD);
    run->partner = run->ranks > 1 ? 1 : 0;
    for (int r = run->ranks - 1; r > 0; r--)
        if (strncmp(all, all + (size_t)r * NAME, NAME))
            run->partner = r;
    run->hosts = 0;
    for (int r = 0; r < run->ranks; r++) {
        int first = 1;
        for (int before = 0; before < r && first; before++)
            first = strncmp(all + (size_t)before * NAME, all + (size_t)r * NAME, NAME) != 0;
        run->hosts += first;
    }
    free(all);
    int member = run->rank == 0 || run->rank == run->partner;
    MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, run->rank, &run->pair);
    return 0;
}

static int run_all(struct run *run, int words, char **word) {
    int first = 1, used = 0, result = 0;
    for (; first < words; first += used) {
        used = take_option(run, words - first, word + first);
        if (used < 0)
            return usage(run, "option not understood", word[first]);
        if (used == 0)
            break;
    }
    if (first == words)
        return usage(run, "nothing to do", "name a test");
    for (int i = first; i < words && !result; i++)
        result = take_test(run, word[i], 1);
    if (!result)
        result = find_hosts(run);
    for (int i = first; i < words && !result; i++)
        result = take_test(run, word[i], 0);
    return result;
}

int main(int words, char **word) {
    struct run run = {.seconds = 0.5, .samples = DEFAULT_SAMPLES, .corrupt_rank = -1, .pair = MPI_COMM_NULL};
    int result;
    MPI_Init(&words, &word);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    result = run_all(&run, words, word);
    if (run.pair != MPI_COMM_NULL)
        MPI_Comm_free(&run.pair);
    MPI_Finalize();
    return result;
}
