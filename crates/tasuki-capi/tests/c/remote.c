/*
 * Put and get between two programs: "remote shm|udp serves ENDING" and "remote shm|udp asks ENDING". The
 * program whose memory it is (serves) makes no call while the other works.
 */
#include "common.h"
#include <signal.h>
#include <unistd.h>

enum { ROOM = 4 << 20, FLAG = ROOM - 1 };

static tasuki_endpoint *endpoint;
/* Whether the program that serves dies at the end. */
static int dies;

static void serve(void)
{
    unsigned char *memory_ = memory(ROOM);
    char text[TASUKI_ADDRESS_TEXT_LEN];
    uint64_t key;
    memory_[FLAG] = 0;
    GOOD(tasuki_register(endpoint, memory_, ROOM, &key));
    GOOD(tasuki_address_text(endpoint, text));
    printf("%s %llu\n", text, (unsigned long long)key);
    fflush(stdout);
    while (__atomic_load_n(&memory_[FLAG], __ATOMIC_ACQUIRE) == 0) {
        usleep(1000);
    }
    EXPECT(is_filled(memory_ + 1000, 3, 3000000));
    EXPECT(memory_[999] == 0xee && memory_[1000 + 3000000] == 0xee);
    if (dies) {
        raise(SIGKILL);
    }
    int code;
    while ((code = tasuki_unregister(endpoint, key)) == TASUKI_EBUSY) {
        tasuki_poll(endpoint, NULL, 0);
    }
    GOOD(code);
    free(memory_);
}

static int end_of(int kind, uint64_t context, size_t len)
{
    tasuki_completion done = next(endpoint);
    EXPECT(done.kind == kind && done.context == context && done.len == len && done.peer == 0);
    EXPECT(done.flags == TASUKI_LAST);
    return done.status;
}

static void ask(void)
{
    static const size_t sizes[] = {0, 1, 4096, 4097, 100000, 3000000};
    char line[200];
    unsigned char address[TASUKI_ADDRESS_LEN], *out = memory(ROOM), *in = memory(ROOM), one = 1;
    tasuki_peer peer;
    puts("asks");
    fflush(stdout);
    EXPECT(fgets(line, sizeof line, stdin) != NULL);
    char *space = strchr(line, ' ');
    EXPECT(space != NULL);
    *space = 0;
    uint64_t key = strtoull(space + 1, NULL, 10);
    GOOD(tasuki_address_parse(line, address));
    GOOD(tasuki_add_peer(endpoint, address, &peer));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t len = sizes[i];
        fill(out, len == 3000000 ? 3 : i + 10, len);
        GOOD(tasuki_put(endpoint, peer, key, 1000, out, len, 0, 2 * i));
        GOOD(end_of(TASUKI_PUT, 2 * i, len));
        memset(in, 0xcc, len + 1);
        GOOD(tasuki_get(endpoint, peer, key, 1000, in, len, 0, 2 * i + 1));
        GOOD(end_of(TASUKI_GET, 2 * i + 1, len));
        EXPECT(memcmp(in, out, len) == 0 && in[len] == 0xcc);
    }
    GOOD(tasuki_put(endpoint, peer, key + 1, 0, out, 1, 0, 1));
    CODE(end_of(TASUKI_PUT, 1, 1), TASUKI_EREFUSED);
    GOOD(tasuki_put(endpoint, peer, key, 1, out, ROOM, 0, 2));
    CODE(end_of(TASUKI_PUT, 2, ROOM), TASUKI_EREFUSED);
    GOOD(tasuki_get(endpoint, peer, key, ROOM, in, 1, 0, 3));
    CODE(end_of(TASUKI_GET, 3, 1), TASUKI_EREFUSED);
    CODE(tasuki_cancel(endpoint, 3), TASUKI_ENOTFOUND);
    /* A quiet operation that succeeds has no completion: the next completion is that of another operation. */
    GOOD(tasuki_put(endpoint, peer, key, 0, out, 1, TASUKI_QUIET, 4));
    GOOD(tasuki_put(endpoint, peer, key, FLAG, &one, 1, 0, 5));
    GOOD(end_of(TASUKI_PUT, 5, 1));
    if (dies) {
        int status;
        do {
            GOOD(tasuki_put(endpoint, peer, key, 0, out, 1, 0, 6));
        } while ((status = end_of(TASUKI_PUT, 6, 1)) == TASUKI_OK);
        CODE(status, TASUKI_EFAILED);
        GOOD(tasuki_put(endpoint, peer, key, 0, out, 100000, 0, 7));
        CODE(end_of(TASUKI_PUT, 7, 100000), TASUKI_EFAILED);
        GOOD(tasuki_get(endpoint, peer, key, 0, in, 1, 0, 8));
        CODE(end_of(TASUKI_GET, 8, 1), TASUKI_EFAILED);
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    EXPECT(argc == 4);
    dies = strcmp(argv[3], "killed") == 0;
    endpoint = open_by(argv[1]);
    if (strcmp(argv[2], "serves") == 0) {
        serve();
    } else {
        ask();
    }
    tasuki_close(endpoint);
    puts("good");
    return 0;
}
