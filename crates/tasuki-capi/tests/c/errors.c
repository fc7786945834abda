/* Wrong arguments and failed calls give codes and never crash; an endpoint that is its own peer. */
#include "common.h"

static void nothing_given(void)
{
    unsigned char bytes[8] = {0};
    tasuki_completion done;
    tasuki_found found;
    tasuki_message message;
    tasuki_peer peer;
    tasuki_endpoint *none = NULL;
    uint64_t key;
    memset(&message, 0, sizeof message);
    CODE(tasuki_open(NULL, NULL), TASUKI_EINVAL);
    CODE(tasuki_options_init(NULL, sizeof(tasuki_options)), TASUKI_EINVAL);
    CODE(tasuki_describe(none, NULL, 0), TASUKI_EINVAL);
    CODE(tasuki_address(none, bytes), TASUKI_EINVAL);
    CODE(tasuki_address_text(none, NULL), TASUKI_EINVAL);
    CODE(tasuki_address_parse(NULL, bytes), TASUKI_EINVAL);
    CODE(tasuki_add_peer(none, bytes, &peer), TASUKI_EINVAL);
    CODE(tasuki_peer_address(none, 0, bytes), TASUKI_EINVAL);
    CODE(tasuki_peer_failure(none, 0, NULL, 0), TASUKI_EINVAL);
    CODE(tasuki_send(none, 0, bytes, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_tsend(none, 0, 0, bytes, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_recv(none, 0, bytes, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_trecv(none, 0, 0, 0, bytes, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_sendmsg(none, &message), TASUKI_EINVAL);
    CODE(tasuki_recvmsg(none, &message), TASUKI_EINVAL);
    CODE(tasuki_cancel(none, 0), TASUKI_EINVAL);
    CODE(tasuki_probe(none, 0, &found), TASUKI_EINVAL);
    CODE(tasuki_tprobe(none, 0, 0, 0, &found), TASUKI_EINVAL);
    CODE(tasuki_claim(none, 0, &found), TASUKI_EINVAL);
    CODE(tasuki_tclaim(none, 0, 0, 0, &found), TASUKI_EINVAL);
    CODE(tasuki_recv_claimed(none, 1, bytes, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_discard_claimed(none, 1), TASUKI_EINVAL);
    CODE(tasuki_register(none, bytes, 8, &key), TASUKI_EINVAL);
    CODE(tasuki_unregister(none, 0), TASUKI_EINVAL);
    CODE(tasuki_put(none, 0, 0, 0, bytes, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_get(none, 0, 0, 0, bytes, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_poll(none, &done, 1), TASUKI_EINVAL);
    CODE(tasuki_wait(none, &done, 1, 0), TASUKI_EINVAL);
    EXPECT(strcmp(tasuki_last_error(), "endpoint is NULL") == 0);
    tasuki_close(NULL);
}

static void options_are_checked(void)
{
    tasuki_options options, good;
    tasuki_endpoint *endpoint;
    CODE(tasuki_options_init(&options, sizeof options - 1), TASUKI_EINVAL);
    GOOD(tasuki_options_init(&good, sizeof good));
    EXPECT(good.size == sizeof good && good.identity == NULL && good.rails == NULL);
    EXPECT(good.expected_peers == 1);
    EXPECT(good.shm == 1 && good.pool_bytes == 32u << 20 && good.linger_ms == 10000);

    options = good;
    options.size = 0;
    CODE(tasuki_open(&options, &endpoint), TASUKI_EINVAL);
    options = good;
    options.shm = 2;
    CODE(tasuki_open(&options, &endpoint), TASUKI_EINVAL);
    EXPECT(strstr(tasuki_last_error(), "shm is 2") != NULL);
    options = good;
    options.expected_peers = 0;
    CODE(tasuki_open(&options, &endpoint), TASUKI_EINVAL);
    options = good;
    options.identity = "nowhere";
    CODE(tasuki_open(&options, &endpoint), TASUKI_EINVAL);
    EXPECT(strstr(tasuki_last_error(), "nowhere") != NULL);
    options = good;
    options.rails = "/nonexistent/rails.json";
    CODE(tasuki_open(&options, &endpoint), TASUKI_EOPEN);
    EXPECT(strstr(tasuki_last_error(), "/nonexistent/rails.json") != NULL);
    EXPECT(endpoint == NULL);

    setenv("TASUKI_SHM", "yes", 1);
    CODE(tasuki_options_init(&options, sizeof options), TASUKI_EENV);
    CODE(tasuki_open(NULL, &endpoint), TASUKI_EENV);
    EXPECT(strstr(tasuki_last_error(), "TASUKI_SHM=yes") != NULL);
    setenv("TASUKI_SHM", "0", 1);
    GOOD(tasuki_options_init(&options, sizeof options));
    EXPECT(options.shm == 0);
    unsetenv("TASUKI_SHM");
}

static void addresses(tasuki_endpoint *endpoint)
{
    unsigned char bytes[TASUKI_ADDRESS_LEN], again[TASUKI_ADDRESS_LEN];
    char text[TASUKI_ADDRESS_TEXT_LEN], padded[TASUKI_ADDRESS_TEXT_LEN + 2];
    tasuki_peer peer, same;
    CODE(tasuki_address(endpoint, NULL), TASUKI_EINVAL);
    CODE(tasuki_address_text(endpoint, NULL), TASUKI_EINVAL);
    GOOD(tasuki_address(endpoint, bytes));
    GOOD(tasuki_address_text(endpoint, text));
    EXPECT(strlen(text) == 2 * TASUKI_ADDRESS_LEN);
    snprintf(padded, sizeof padded, "%s\n", text);
    GOOD(tasuki_address_parse(padded, again));
    EXPECT(memcmp(bytes, again, sizeof bytes) == 0);
    CODE(tasuki_address_parse(text, NULL), TASUKI_EINVAL);
    CODE(tasuki_address_parse("beef", again), TASUKI_EADDRESS);
    CODE(tasuki_address_parse("\xff\xfe", again), TASUKI_EINVAL);

    CODE(tasuki_add_peer(endpoint, NULL, &peer), TASUKI_EINVAL);
    CODE(tasuki_add_peer(endpoint, bytes, NULL), TASUKI_EINVAL);
    memset(again, 0, sizeof again);
    CODE(tasuki_add_peer(endpoint, again, &peer), TASUKI_EADDRESS);
    GOOD(tasuki_add_peer(endpoint, bytes, &peer));
    GOOD(tasuki_add_peer(endpoint, bytes, &same));
    EXPECT(peer == 0 && same == 0);
    GOOD(tasuki_peer_address(endpoint, peer, again));
    EXPECT(memcmp(bytes, again, sizeof bytes) == 0);
    CODE(tasuki_peer_address(endpoint, 1, again), TASUKI_EPEER);
    CODE(tasuki_peer_failure(endpoint, peer, NULL, 0), 0);
    CODE(tasuki_peer_failure(endpoint, 1, NULL, 0), TASUKI_EPEER);
}

static void posts(tasuki_endpoint *endpoint)
{
    unsigned char bytes[8];
    struct iovec piece;
    tasuki_message message;
    tasuki_completion done;
    piece.iov_base = NULL;
    piece.iov_len = 1;
    memset(&message, 0, sizeof message);
    CODE(tasuki_send(endpoint, 7, bytes, 1, 0, 0), TASUKI_EPEER);
    EXPECT(strstr(tasuki_last_error(), "peer 7") != NULL);
    CODE(tasuki_recv(endpoint, 7, bytes, 1, 0, 0), TASUKI_EPEER);
    CODE(tasuki_send(endpoint, 0, NULL, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_recv(endpoint, 0, NULL, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_send(endpoint, 0, bytes, SIZE_MAX, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_send(endpoint, 0, bytes, 1, TASUKI_TAGGED, 0), TASUKI_EINVAL);
    CODE(tasuki_recv(endpoint, 0, bytes, 1, TASUKI_INJECT, 0), TASUKI_EINVAL);
    CODE(tasuki_sendmsg(endpoint, NULL), TASUKI_EINVAL);
    CODE(tasuki_recvmsg(endpoint, NULL), TASUKI_EINVAL);
    message.iov_count = 1;
    CODE(tasuki_sendmsg(endpoint, &message), TASUKI_EINVAL);
    message.iov = &piece;
    CODE(tasuki_sendmsg(endpoint, &message), TASUKI_EINVAL);
    message.iov_count = 100000;
    CODE(tasuki_sendmsg(endpoint, &message), TASUKI_EINVAL);
    message.iov_count = 0;
    message.flags = TASUKI_MULTI;
    CODE(tasuki_recvmsg(endpoint, &message), TASUKI_EINVAL);
    CODE(tasuki_sendmsg(endpoint, &message), TASUKI_EINVAL);
    CODE(tasuki_cancel(endpoint, 1), TASUKI_ENOTFOUND);
    CODE(tasuki_probe(endpoint, 0, NULL), TASUKI_EINVAL);
    CODE(tasuki_recv_claimed(endpoint, 1, bytes, 1, 0, 0), TASUKI_ECLAIM);
    CODE(tasuki_discard_claimed(endpoint, 0), TASUKI_ECLAIM);
    CODE(tasuki_poll(endpoint, NULL, 1), TASUKI_EINVAL);
    CODE(tasuki_wait(endpoint, &done, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_poll(endpoint, NULL, 0), 0);
    CODE(tasuki_poll(endpoint, &done, 1), 0);
    CODE(tasuki_wait(endpoint, &done, 1, 3), 0);
}

static void registered_memory(tasuki_endpoint *endpoint)
{
    unsigned char memory[8], bytes[8];
    uint64_t key, other;
    CODE(tasuki_register(endpoint, NULL, 8, &key), TASUKI_EINVAL);
    CODE(tasuki_register(endpoint, memory, 8, NULL), TASUKI_EINVAL);
    GOOD(tasuki_register(endpoint, memory, 8, &key));
    GOOD(tasuki_register(endpoint, memory, 8, &other));
    EXPECT(key != other);
    CODE(tasuki_put(endpoint, 7, key, 0, bytes, 1, 0, 0), TASUKI_EPEER);
    CODE(tasuki_get(endpoint, 7, key, 0, bytes, 1, 0, 0), TASUKI_EPEER);
    CODE(tasuki_put(endpoint, 0, key, 0, NULL, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_get(endpoint, 0, key, 0, NULL, 1, 0, 0), TASUKI_EINVAL);
    CODE(tasuki_put(endpoint, 0, key, 0, bytes, 1, TASUKI_INJECT, 0), TASUKI_EINVAL);
    GOOD(tasuki_unregister(endpoint, other));
    CODE(tasuki_unregister(endpoint, other), TASUKI_ENOTFOUND);
    GOOD(tasuki_unregister(endpoint, key));
}

/* Small and large messages, sent before and after the receive is posted. */
static void to_oneself(tasuki_endpoint *endpoint)
{
    static const size_t sizes[] = {0, 1, 5000, 300000, 7000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t len = sizes[i];
        unsigned char *out = memory(len), *in = memory(len);
        int seen = 0;
        fill(out, i, len);
        if (i % 2) {
            GOOD(tasuki_recv(endpoint, TASUKI_ANY_SOURCE, in, len, 0, 1));
        }
        GOOD(tasuki_send(endpoint, 0, out, len, 0, 2));
        if (!(i % 2)) {
            GOOD(tasuki_recv(endpoint, 0, in, len, 0, 1));
        }
        while (seen != 3) {
            tasuki_completion done = next(endpoint);
            GOOD(done.status);
            EXPECT(done.peer == 0 && (done.flags & TASUKI_LAST) && !(done.flags & TASUKI_TAGGED));
            if (done.kind == TASUKI_RECV) {
                EXPECT(done.context == 1 && done.len == len && done.total == len);
                EXPECT(len == 0 ? done.bytes == NULL : done.bytes == in);
                seen |= 1;
            } else {
                EXPECT(done.context == 2);
                seen |= 2;
            }
        }
        EXPECT(is_filled(in, i, len));
        free(out);
        free(in);
    }
}

static void texts(tasuki_endpoint *endpoint)
{
    char little[4], all[65536];
    int len = tasuki_describe(endpoint, NULL, 0);
    EXPECT(len > 0);
    CODE(tasuki_describe(endpoint, NULL, 4), TASUKI_EINVAL);
    EXPECT(tasuki_describe(endpoint, little, sizeof little) > 3 && strlen(little) == 3);
    EXPECT(tasuki_describe(endpoint, all, sizeof all) > 0 && strncmp(all, little, 3) == 0);
    EXPECT(strcmp(tasuki_version(), TASUKI_VERSION) == 0);
    EXPECT(strcmp(tasuki_strerror(TASUKI_OK), "success") == 0);
    for (int code = -1; code >= -16; code--) {
        EXPECT(strcmp(tasuki_strerror(code), "unknown error code") != 0);
    }
    EXPECT(strcmp(tasuki_strerror(-999), "unknown error code") == 0);
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2);
    EXPECT(strcmp(tasuki_last_error(), "") == 0);
    nothing_given();
    options_are_checked();
    tasuki_endpoint *endpoint = open_by(argv[1]);
    addresses(endpoint);
    posts(endpoint);
    registered_memory(endpoint);
    to_oneself(endpoint);
    texts(endpoint);
    tasuki_close(endpoint);
    puts("good");
    return 0;
}
