/* One of two programs: "pair shm|udp sends|receives ENDING". Each writes its address to stdout and reads the
 * other's from stdin. */
#include "common.h"
#include <signal.h>

static tasuki_endpoint *endpoint;
static tasuki_peer other;
/* Whether this program is the one that sends the data. */
static int sender;

enum { GO = 1000000 };

/* A barrier: both programs come here before either goes on. */
static void meet(void)
{
    static uint64_t meetings;
    char mine = 1, theirs = 0;
    int left = 2;
    uint64_t tag = GO + meetings++;
    GOOD(tasuki_trecv(endpoint, other, tag, 0, &theirs, 1, 0, tag));
    GOOD(tasuki_tsend(endpoint, other, tag, &mine, 1, 0, tag));
    for (; left > 0; left--) {
        tasuki_completion done = next(endpoint);
        EXPECT(done.context == tag);
        GOOD(done.status);
    }
    EXPECT(theirs == 1);
}

static void untagged_in_order(void)
{
    static const size_t sizes[] = {0, 1, 100, 4096, 65539, 1 << 20, 5000001};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    unsigned char *bytes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        bytes[i] = memory(sizes[i]);
        if (sender) {
            fill(bytes[i], i, sizes[i]);
            GOOD(tasuki_send(endpoint, other, bytes[i], sizes[i], 0, i));
        } else {
            GOOD(tasuki_recv(endpoint, TASUKI_ANY_SOURCE, bytes[i], sizes[i], 0, i));
        }
    }
    unsigned seen = 0;
    while (seen != (1u << COUNT) - 1) {
        tasuki_completion batch[3];
        int count = tasuki_wait(endpoint, batch, 3, -1);
        EXPECT(count >= 1 && count <= 3);
        for (int i = 0; i < count; i++) {
            GOOD(batch[i].status);
            EXPECT(batch[i].kind == (sender ? TASUKI_SEND : TASUKI_RECV));
            EXPECT(batch[i].peer == other && batch[i].context < COUNT);
            seen |= 1u << batch[i].context;
            if (!sender) {
                EXPECT(batch[i].len == sizes[batch[i].context]);
                EXPECT(is_filled(bytes[batch[i].context], batch[i].context, batch[i].len));
            }
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        free(bytes[i]);
    }
}

static void tags_choose(void)
{
    unsigned char bytes[8];
    if (sender) {
        for (uint64_t tag = 0x10; tag < 0x14; tag++) {
            bytes[0] = (unsigned char)tag;
            GOOD(tasuki_tsend(endpoint, other, tag, bytes, 1, TASUKI_INJECT | TASUKI_QUIET, 0));
        }
        bytes[0] = 0;
        return;
    }
    /* Receives of one tag and receives by a mask; a mask gets that of the remaining messages which was sent
     * first. */
    static const struct {
        uint64_t tag, ignore, gets;
    } asks[] = {{0x12, 0, 0x12}, {0x1f, 0xf, 0x10}, {0x11, 0, 0x11}, {0, ~(uint64_t)0, 0x13}};
    for (int i = 0; i < 4; i++) {
        GOOD(tasuki_trecv(endpoint, other, asks[i].tag, asks[i].ignore, bytes, 8, 0, 5));
        tasuki_completion done = next_is(endpoint, TASUKI_RECV, 5);
        EXPECT((done.flags & TASUKI_TAGGED) && done.tag == asks[i].gets && done.len == 1);
        EXPECT(bytes[0] == asks[i].gets);
    }
}

/* Delivery completes only when the receiver has asked for the message. */
static void delivery_waits(void)
{
    unsigned char bytes[16], signal = 0;
    if (sender) {
        fill(bytes, 50, 16);
        GOOD(tasuki_tsend(endpoint, other, 50, bytes, 16, TASUKI_DELIVERY, 50));
        GOOD(tasuki_tsend(endpoint, other, 51, &signal, 1, TASUKI_INJECT | TASUKI_QUIET, 0));
        GOOD(tasuki_trecv(endpoint, other, 52, 0, &signal, 1, 0, 52));
        next_is(endpoint, TASUKI_RECV, 52);
        GOOD(tasuki_tsend(endpoint, other, 53, &signal, 1, TASUKI_INJECT | TASUKI_QUIET, 0));
        tasuki_completion done = next_is(endpoint, TASUKI_SEND, 50);
        EXPECT(done.flags & TASUKI_TAGGED);
        return;
    }
    GOOD(tasuki_trecv(endpoint, other, 51, 0, &signal, 1, 0, 51));
    next_is(endpoint, TASUKI_RECV, 51);
    GOOD(tasuki_tsend(endpoint, other, 52, &signal, 1, TASUKI_INJECT | TASUKI_QUIET, 0));
    GOOD(tasuki_trecv(endpoint, other, 53, 0, &signal, 1, 0, 53));
    next_is(endpoint, TASUKI_RECV, 53);
    GOOD(tasuki_trecv(endpoint, other, 50, 0, bytes, 16, 0, 50));
    next_is(endpoint, TASUKI_RECV, 50);
    EXPECT(is_filled(bytes, 50, 16));
}

static void pieces_and_data(void)
{
    unsigned char *bytes = memory(100000);
    struct iovec pieces[3];
    tasuki_message message;
    memset(&message, 0, sizeof message);
    message.peer = other;
    message.tag = 60;
    message.iov = pieces;
    message.iov_count = 3;
    message.context = 60;
    pieces[0].iov_len = sender ? 10 : 70000;
    pieces[1].iov_len = sender ? 40000 : 0;
    pieces[2].iov_len = 100000 - pieces[0].iov_len - pieces[1].iov_len;
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        pieces[i].iov_base = bytes + at;
        at += pieces[i].iov_len;
    }
    if (sender) {
        fill(bytes, 60, 100000);
        message.flags = TASUKI_TAGGED | TASUKI_DATA;
        message.data = 0x123456789abcdef0u;
        GOOD(tasuki_sendmsg(endpoint, &message));
        memset(pieces, 0, sizeof pieces);
        next_is(endpoint, TASUKI_SEND, 60);
    } else {
        message.flags = TASUKI_TAGGED;
        GOOD(tasuki_recvmsg(endpoint, &message));
        memset(pieces, 0, sizeof pieces);
        tasuki_completion done = next_is(endpoint, TASUKI_RECV, 60);
        EXPECT((done.flags & TASUKI_DATA) && done.data == 0x123456789abcdef0u && done.len == 100000);
        EXPECT(is_filled(bytes, 60, 100000));
    }
    free(bytes);
}

/* One receive for several messages. */
static void many_in_one(void)
{
    enum { EACH = 3000, ROOM = 16 * EACH + 100 };
    unsigned char *bytes = memory(ROOM);
    if (sender) {
        meet();
        for (uint64_t i = 0; i < 16; i++) {
            fill(bytes, i, EACH);
            GOOD(tasuki_send(endpoint, other, bytes, EACH, TASUKI_INJECT | TASUKI_QUIET, 0));
        }
    } else {
        struct iovec piece;
        tasuki_message message;
        memset(&message, 0, sizeof message);
        piece.iov_base = bytes;
        piece.iov_len = ROOM;
        message.peer = other;
        message.flags = TASUKI_MULTI;
        message.min_free = EACH;
        message.iov = &piece;
        message.iov_count = 1;
        message.context = 61;
        GOOD(tasuki_recvmsg(endpoint, &message));
        meet();
        for (uint64_t i = 0; i < 16; i++) {
            tasuki_completion done = next_is(endpoint, TASUKI_RECV, 61);
            EXPECT((done.flags & TASUKI_MULTI) && done.len == EACH && done.bytes == bytes + i * EACH);
            EXPECT(is_filled((const unsigned char *)done.bytes, i, EACH));
            EXPECT(!(done.flags & TASUKI_LAST) == (i < 15));
        }
    }
    free(bytes);
}

static void too_long(void)
{
    unsigned char bytes[1000];
    if (sender) {
        fill(bytes, 62, sizeof bytes);
        GOOD(tasuki_tsend(endpoint, other, 62, bytes, sizeof bytes, TASUKI_INJECT | TASUKI_QUIET, 0));
        return;
    }
    memset(bytes, 0xee, sizeof bytes);
    GOOD(tasuki_trecv(endpoint, other, 62, 0, bytes, 100, 0, 62));
    tasuki_completion done = next(endpoint);
    CODE(done.status, TASUKI_ETRUNCATED);
    EXPECT(done.len == 100 && done.total == 1000 && is_filled(bytes, 62, 100) && bytes[100] == 0xee);
}

static void probes(void)
{
    unsigned char first[333], second[334], bytes[400];
    if (sender) {
        fill(first, 70, sizeof first);
        fill(second, 71, sizeof second);
        GOOD(tasuki_tsend(endpoint, other, 70, first, sizeof first, TASUKI_INJECT | TASUKI_QUIET, 0));
        GOOD(tasuki_tsend(endpoint, other, 70, second, sizeof second, TASUKI_INJECT | TASUKI_QUIET, 0));
        GOOD(tasuki_send(endpoint, other, second, 3, TASUKI_INJECT | TASUKI_QUIET, 0));
        return;
    }
    tasuki_found found;
    int got;
    while ((got = tasuki_probe(endpoint, TASUKI_ANY_SOURCE, &found)) == 0) {
    }
    CODE(got, 1);
    EXPECT(found.source == other && found.len == 3 && found.flags == 0 && found.claim == 0);
    CODE(tasuki_tprobe(endpoint, other, 69, 0, &found), 0);
    CODE(tasuki_tprobe(endpoint, other, 69, 7, &found), 1);
    EXPECT(found.tag == 70 && found.len == 333 && (found.flags & TASUKI_TAGGED));
    CODE(tasuki_tclaim(endpoint, TASUKI_ANY_SOURCE, 70, 0, &found), 1);
    EXPECT(found.len == 333 && found.claim != 0);
    uint64_t claim = found.claim;
    /* A claimed message is invisible: the receive gets the second message with this tag. */
    GOOD(tasuki_trecv(endpoint, other, 70, 0, bytes, sizeof bytes, 0, 71));
    EXPECT(next_is(endpoint, TASUKI_RECV, 71).len == 334 && is_filled(bytes, 71, 334));
    GOOD(tasuki_recv_claimed(endpoint, claim, bytes, sizeof bytes, 0, 70));
    EXPECT(next_is(endpoint, TASUKI_RECV, 70).len == 333 && is_filled(bytes, 70, 333));
    CODE(tasuki_recv_claimed(endpoint, claim, bytes, sizeof bytes, 0, 70), TASUKI_ECLAIM);
    CODE(tasuki_claim(endpoint, other, &found), 1);
    GOOD(tasuki_discard_claimed(endpoint, found.claim));
    CODE(tasuki_probe(endpoint, TASUKI_ANY_SOURCE, &found), 0);
}

static void cancelled(void)
{
    unsigned char bytes[8];
    GOOD(tasuki_trecv(endpoint, other, 99, 0, bytes, 8, 0, 99));
    CODE(tasuki_cancel(endpoint, 98), TASUKI_ENOTFOUND);
    GOOD(tasuki_cancel(endpoint, 99));
    tasuki_completion done = next(endpoint);
    CODE(done.status, TASUKI_ECANCELLED);
    EXPECT(done.context == 99 && done.kind == TASUKI_RECV && (done.flags & TASUKI_LAST));
    CODE(tasuki_cancel(endpoint, 99), TASUKI_ENOTFOUND);
}

/* Thousands of messages in each direction at once, small and large, with completions read in batches. */
static void flood(void)
{
    enum { COUNT = 2000, MOST = 2000 };
    unsigned char *out = memory((size_t)COUNT * MOST), *in = memory((size_t)COUNT * MOST);
    for (uint64_t i = 0; i < COUNT; i++) {
        size_t len = (i * 37) % MOST, at = i * MOST;
        fill(out + at, i, len);
        GOOD(tasuki_trecv(endpoint, other, i, 0, in + at, MOST, 0, i));
        GOOD(tasuki_tsend(endpoint, other, i, out + at, len, 0, COUNT + i));
    }
    for (int left = 2 * COUNT; left > 0;) {
        tasuki_completion batch[64];
        int count = tasuki_poll(endpoint, batch, 64);
        EXPECT(count >= 0);
        for (int i = 0; i < count; i++) {
            GOOD(batch[i].status);
            if (batch[i].kind == TASUKI_RECV) {
                uint64_t which = batch[i].context;
                EXPECT(batch[i].tag == which && batch[i].len == (which * 37) % MOST);
                EXPECT(is_filled(in + which * MOST, which, batch[i].len));
            }
        }
        left -= count;
    }
    free(out);
    free(in);
}

/* The other program closes its endpoint, or dies. */
static void leave(const char *ending)
{
    unsigned char byte;
    if (!sender) {
        if (strcmp(ending, "killed") == 0) {
            raise(SIGKILL);
        }
        return;
    }
    GOOD(tasuki_recv(endpoint, other, &byte, 1, 0, 1));
    tasuki_completion done = next(endpoint);
    EXPECT(done.context == 1 && done.kind == TASUKI_RECV && done.peer == other && (done.flags & TASUKI_LAST));
    if (strcmp(ending, "killed") == 0) {
        CODE(done.status, TASUKI_EFAILED);
        char reason[200];
        EXPECT(tasuki_peer_failure(endpoint, other, reason, sizeof reason) > 0);
        fprintf(stderr, "as it should be: %s\n", reason);
    } else {
        CODE(done.status, TASUKI_EGONE);
    }
}

int main(int argc, char **argv)
{
    EXPECT(argc == 4);
    char text[TASUKI_ADDRESS_TEXT_LEN + 1];
    unsigned char address[TASUKI_ADDRESS_LEN];
    endpoint = open_by(argv[1]);
    sender = strcmp(argv[2], "sends") == 0;
    GOOD(tasuki_address_text(endpoint, text));
    puts(text);
    fflush(stdout);
    EXPECT(fgets(text, sizeof text, stdin) != NULL);
    GOOD(tasuki_address_parse(text, address));
    GOOD(tasuki_add_peer(endpoint, address, &other));
    static void (*const parts[])(void) = {untagged_in_order, tags_choose, delivery_waits, pieces_and_data,
                                          many_in_one,       too_long,    probes,         cancelled,
                                          flood};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        parts[i]();
        meet();
    }
    leave(argv[3]);
    tasuki_close(endpoint);
    puts("good");
    return 0;
}
