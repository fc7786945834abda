/*
 * shared works|dies: calls of tasuki_shared.h from several processes. With "dies" rank 1 kills itself while
 * it has a page that the others want.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tasuki_shared.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tasuki_last_error()); \
            return 1; \
        } \
    } while (0)

enum { ROUNDS = 20, PAGES = 40 };

static int dies(const tasuki_shared *shared, volatile uint64_t *words) {
    if (tasuki_shared_rank(shared) == 1) {
        words[0] = 1;
        tasuki_shared_barrier(shared);
        kill(getpid(), SIGKILL);
    }
    tasuki_shared_barrier(shared);
    /* Until the owner has died it may give the page away: then it is asked for no more, and nobody dies for
     * it. Rank 0 waits at a barrier instead. */
    if (tasuki_shared_rank(shared) == 2)
        for (;;)
            words[1] += words[0];
    tasuki_shared_barrier(shared);
    return 0;
}

static int works(tasuki_shared *shared, uint64_t *words) {
    int rank = tasuki_shared_rank(shared), size = tasuki_shared_size(shared);
    void *memory;
    CHECK(rank >= 0 && rank < size);
    CHECK(tasuki_shared_allocate(shared, 1, 3, &memory) == TASUKI_EINVAL);
    CHECK(tasuki_shared_allocate(shared, (size_t)1 << 60, 0, &memory) == TASUKI_EINVAL && !memory);
    CHECK(tasuki_shared_unlock(shared, 5) == TASUKI_EINVAL);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(tasuki_shared_lock(shared, 5) == TASUKI_OK);
        words[0]++;
        CHECK(tasuki_shared_unlock(shared, 5) == TASUKI_OK);
    }
    CHECK(tasuki_shared_barrier(shared) == TASUKI_OK);
    CHECK(words[0] == (uint64_t)(ROUNDS * size));
    uint64_t *mine = words + (size_t)(1 + rank * PAGES) * TASUKI_SHARED_PAGE / 8;
    CHECK(tasuki_shared_fetch(shared, mine, (size_t)PAGES * TASUKI_SHARED_PAGE, 1) == TASUKI_OK);
    memset(mine, rank + 1, (size_t)PAGES * TASUKI_SHARED_PAGE);
    CHECK(tasuki_shared_barrier(shared) == TASUKI_OK);
    int next = (rank + 1) % size;
    const unsigned char *theirs = (unsigned char *)words + (size_t)(1 + next * PAGES) * TASUKI_SHARED_PAGE;
    CHECK(tasuki_shared_fetch(shared, theirs, (size_t)PAGES * TASUKI_SHARED_PAGE, 0) == TASUKI_OK);
    for (size_t i = 0; i < (size_t)PAGES * TASUKI_SHARED_PAGE; i++)
        CHECK(theirs[i] == next + 1);
    /* In every step each reads the word that the one before has written, and writes its own. */
    uint64_t *steps = words + (size_t)(1 + size * PAGES) * TASUKI_SHARED_PAGE / 8;
    uint64_t *own = steps + (size_t)rank * TASUKI_SHARED_PAGE / 8;
    const uint64_t *other = steps + (size_t)next * TASUKI_SHARED_PAGE / 8;
    for (uint64_t step = 1; step <= 5 * ROUNDS; step++) {
        *own = step;
        CHECK(tasuki_shared_barrier(shared) == TASUKI_OK);
        CHECK(tasuki_shared_phase(shared, 1) == TASUKI_OK);
        CHECK(*other == step);
        CHECK(tasuki_shared_barrier(shared) == TASUKI_OK);
        CHECK(tasuki_shared_phase(shared, 2) == TASUKI_OK);
    }
    CHECK(tasuki_shared_phase(NULL, 1) == TASUKI_EINVAL);
    tasuki_shared_counters counters;
    CHECK(tasuki_shared_count(shared, &counters) == TASUKI_OK && counters.fresh >= PAGES);
    CHECK(size == 1 || counters.installed >= PAGES);
    CHECK(tasuki_shared_barrier(shared) == TASUKI_OK);
    CHECK(tasuki_shared_close(shared) == TASUKI_OK);
    return 0;
}

int main(int argc, char **argv) {
    tasuki_shared *shared = NULL;
    void *memory = NULL;
    CHECK(argc == 2);
    CHECK(tasuki_shared_open(1, NULL) == TASUKI_EINVAL && tasuki_shared_barrier(NULL) == TASUKI_EINVAL);
    CHECK(tasuki_shared_close(NULL) == TASUKI_OK);
    int code = tasuki_shared_open((size_t)64 << 20, &shared);
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", tasuki_strerror(code), tasuki_last_error());
        return 1;
    }
    CHECK(tasuki_shared_allocate(shared, (size_t)16 << 20, 0, &memory) == TASUKI_OK);
    if (strcmp(argv[1], "dies") == 0)
        return dies(shared, (volatile uint64_t *)memory);
    if (works(shared, (uint64_t *)memory))
        return 1;
    printf("good\n");
    return 0;
}
