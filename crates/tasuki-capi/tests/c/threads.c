/* Several threads use one endpoint at once: each sends to the endpoint itself, and each takes any thread's
 * completions. */
#include "common.h"
#include <pthread.h>

enum { THREADS = 4, EACH = 500, LEN = 700 };

static tasuki_endpoint *endpoint;
static unsigned char *in, *out;
static unsigned char seen[2][THREADS * EACH];
static int left = 2 * THREADS * EACH;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const tasuki_completion *done)
{
    GOOD(done->status);
    EXPECT(done->context < THREADS * EACH);
    if (done->kind == TASUKI_RECV) {
        EXPECT(done->len == LEN && is_filled(in + done->context * LEN, done->context, LEN));
    }
    pthread_mutex_lock(&lock);
    EXPECT(!seen[done->kind == TASUKI_RECV][done->context]++);
    left--;
    pthread_mutex_unlock(&lock);
}

static int is_over(void)
{
    pthread_mutex_lock(&lock);
    int over = left == 0;
    pthread_mutex_unlock(&lock);
    return over;
}

static void *work(void *argument)
{
    uint64_t thread = (uint64_t)(uintptr_t)argument;
    for (uint64_t i = thread * EACH; i < (thread + 1) * EACH; i++) {
        fill(out + i * LEN, i, LEN);
        GOOD(tasuki_tsend(endpoint, 0, i, out + i * LEN, LEN, 0, i));
        GOOD(tasuki_trecv(endpoint, TASUKI_ANY_SOURCE, i, 0, in + i * LEN, LEN, 0, i));
    }
    while (!is_over()) {
        tasuki_completion batch[8];
        int count = thread % 2 ? tasuki_poll(endpoint, batch, 8) : tasuki_wait(endpoint, batch, 8, 1);
        EXPECT(count >= 0);
        for (int i = 0; i < count; i++) {
            note(&batch[i]);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned char address[TASUKI_ADDRESS_LEN];
    tasuki_peer self;
    endpoint = open_by("shm");
    in = memory((size_t)THREADS * EACH * LEN);
    out = memory((size_t)THREADS * EACH * LEN);
    GOOD(tasuki_address(endpoint, address));
    GOOD(tasuki_add_peer(endpoint, address, &self));
    EXPECT(self == 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        EXPECT(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        EXPECT(pthread_join(threads[i], NULL) == 0);
    }
    tasuki_close(endpoint);
    free(in);
    free(out);
    puts("good");
    return 0;
}
