/* Drives the plug-in as NCCL does, with host buffers: rank r of n connects to all others by their handles,
 * which travel as files; then all exchange messages of random length, alone and in groups, and look at every
 * byte. Prints one line for each rank at its end, or the first error and exits with 3.
 *
 *     drive LIBRARY VERSION RANK RANKS FOLDER ROUNDS MOST_BYTES SEED
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tables.h"

#define RANKS_MOST 64
/* Requests under way on a connection, at most: NCCL has up to 8 of a channel. */
#define WINDOW 6
/* So long without anything happening is a hang, seconds: the engine gives a silent peer up after 60. */
#define HANG_S 150.0

static struct plugin plugin;
static int rank, ranks;
static double last_progress, longest_stall;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void progressed(void)
{
    double t = now();
    if (t - last_progress > longest_stall)
        longest_stall = t - last_progress;
    last_progress = t;
}

static void check_progress(const char *what)
{
    if (now() - last_progress > HANG_S) {
        fprintf(stderr, "rank %d: nothing has happened for %g s in %s\n", rank, HANG_S, what);
        exit(4);
    }
}

static void say(int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
    (void)flags, (void)file, (void)line;
    va_list arguments;
    va_start(arguments, format);
    char text[1000];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "rank %d: %s %s\n", rank, level == 2 ? "WARN" : "INFO", text);
}

/* One connection: to a peer (sending) or from it (receiving). */
struct end {
    void *comm;
    void *memory;
    unsigned char *bytes; /* room for WINDOW groups */
    /* Requests under way, oldest first. */
    struct {
        void *request;
        int members;
        long message; /* number of the first message of the group */
    } window[WINDOW];
    int under_way;
    long rounds; /* groups begun */
    long message;
};

static struct end to[RANKS_MOST], from[RANKS_MOST];
static size_t most_bytes;
static uint64_t seed;
static long messages, wrong;
static unsigned long long bytes_received;

/* The last thing that this rank does after an error: closes what is open, with requests under way, as an
 * aborting NCCL does, and frees memory in between. */
static void leave(const char *what, result_t code)
{
    printf("rank %d: error %d in %s\n", rank, code, what);
    fflush(stdout);
    for (int i = 0; i < ranks; i++) {
        struct end *ends[2] = {&to[i], &from[i]};
        for (int k = 0; k < 2; k++) {
            if (!ends[k]->comm)
                continue;
            CALL(&plugin, deregMr, (ends[k]->comm, ends[k]->memory));
            memset(ends[k]->bytes, 0xAA, 16);
            free(ends[k]->bytes);
            if (k == 0)
                CALL(&plugin, closeSend, (ends[k]->comm));
            else
                CALL(&plugin, closeRecv, (ends[k]->comm));
        }
    }
    plug_finalize(&plugin);
    exit(3);
}

#define GOOD(CALL_)                                                                                        \
    do {                                                                                                   \
        result_t code_ = (CALL_);                                                                          \
        if (code_ != 0)                                                                                    \
            leave(#CALL_, code_);                                                                          \
    } while (0)

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* What both sides know of message `number` from a to b. */
static uint64_t drawn(int a, int b, long number)
{
    return mixed(seed ^ mixed((uint64_t)a << 48 | (uint64_t)b << 32 | (uint64_t)number));
}

/* Most are short, some of the greatest length, some empty. */
static size_t length(uint64_t draw)
{
    size_t most = draw % 16 == 0 ? most_bytes : draw % 4 == 0 ? most_bytes / 16 : most_bytes / 1024;
    return draw % 64 == 1 ? 0 : (draw >> 8) % (most + 1);
}

static int members(int a, int b, long round)
{
    uint64_t draw = drawn(b, a, round);
    return draw % 3 ? 1 : 1 + (int)((draw >> 8) % GROUP_MOST);
}

static void fill(unsigned char *bytes, size_t count, uint64_t draw)
{
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = mixed(draw + i);
        memcpy(bytes + i, &word, count - i < 8 ? count - i : 8);
    }
}

static int holds(const unsigned char *bytes, size_t count, uint64_t draw)
{
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = mixed(draw + i);
        if (memcmp(bytes + i, &word, count - i < 8 ? count - i : 8))
            return 0;
    }
    return 1;
}

static unsigned char *place(struct end *end, long round, int member)
{
    return end->bytes + ((size_t)(round % WINDOW) * GROUP_MOST + (size_t)member) * (most_bytes + 8);
}

/* Tags of a group differ, and come again in the next. */
static int tag_of(int member)
{
    return 100 + 7 * member;
}

/* Begins the next group of sends if there is room; each send is a request of its own, and the group is over
 * when all are. */
static void *sends[RANKS_MOST][WINDOW][GROUP_MOST];

static void send_some(int peer, long rounds)
{
    struct end *end = &to[peer];
    while (end->under_way < WINDOW && end->rounds < rounds) {
        int count = members(rank, peer, end->rounds), slot = (int)(end->rounds % WINDOW);
        for (int turn = 0; turn < count; turn++) {
            /* The last member first: tags say which is which. */
            int i = count - 1 - turn;
            uint64_t draw = drawn(rank, peer, end->message + i);
            unsigned char *bytes = place(end, end->rounds, i);
            fill(bytes, length(draw), draw);
            void **request = &sends[peer][slot][i];
            GOOD(plug_send(&plugin, end->comm, bytes, length(draw), tag_of(i), end->memory, request));
            if (!sends[peer][slot][i])
                leave("isend without a request", 0);
        }
        end->window[slot].members = count;
        end->window[slot].message = end->message;
        end->message += count, end->under_way++, end->rounds++;
    }
}

static void recv_some(int peer, long rounds)
{
    struct end *end = &from[peer];
    while (end->under_way < WINDOW && end->rounds < rounds) {
        int count = members(peer, rank, end->rounds), slot = (int)(end->rounds % WINDOW);
        void *data[GROUP_MOST], *memory[GROUP_MOST];
        size_t room[GROUP_MOST];
        int tags[GROUP_MOST];
        for (int i = 0; i < count; i++) {
            data[i] = place(end, end->rounds, i), room[i] = most_bytes + 8, tags[i] = tag_of(i);
            memory[i] = end->memory;
        }
        /* NCCL says so (NCCL_NET_OPTIONAL_RECV_COMPLETION) where it looks at the data instead. */
        void *request = (void *)(uintptr_t)(end->rounds % 2);
        GOOD(plug_recv(&plugin, end->comm, count, data, room, tags, memory, &request));
        if (!request)
            leave("irecv without a request", 0);
        end->window[slot].request = request;
        end->window[slot].members = count;
        end->window[slot].message = end->message;
        end->message += count, end->under_way++, end->rounds++;
    }
}

static void test_sends(int peer)
{
    struct end *end = &to[peer];
    while (end->under_way > 0) {
        int slot = (int)((end->rounds - end->under_way) % WINDOW), left = 0;
        for (int i = 0; i < end->window[slot].members; i++) {
            if (!sends[peer][slot][i])
                continue;
            int done = -1, size = -1;
            GOOD(CALL(&plugin, test, (sends[peer][slot][i], &done, &size)));
            if (!done) {
                left++;
                continue;
            }
            uint64_t draw = drawn(rank, peer, end->window[slot].message + i);
            if ((size_t)size != length(draw))
                wrong++;
            sends[peer][slot][i] = NULL;
            progressed();
        }
        if (left)
            return;
        end->under_way--;
    }
}

static void test_receives(int peer)
{
    struct end *end = &from[peer];
    while (end->under_way > 0) {
        long round = end->rounds - end->under_way;
        int slot = (int)(round % WINDOW), done = -1, sizes[GROUP_MOST];
        memset(sizes, 0xEE, sizeof sizes);
        GOOD(CALL(&plugin, test, (end->window[slot].request, &done, sizes)));
        if (!done)
            return;
        for (int i = 0; i < end->window[slot].members; i++) {
            uint64_t draw = drawn(peer, rank, end->window[slot].message + i);
            size_t bytes = length(draw);
            if ((size_t)sizes[i] != bytes || !holds(place(end, round, i), bytes, draw))
                wrong++;
            memset(place(end, round, i), 0, bytes < 64 ? bytes : 64);
            messages++, bytes_received += bytes;
        }
        progressed();
        end->under_way--;
    }
}

/* Handles are files that appear whole. */
static void write_handle(const char *folder, int source, const void *handle)
{
    char path[4096], hidden[4200];
    snprintf(path, sizeof path, "%s/%d-%d", folder, source, rank);
    snprintf(hidden, sizeof hidden, "%s.new", path);
    FILE *file = fopen(hidden, "w");
    if (!file || fwrite(handle, HANDLE_BYTES, 1, file) != 1 || fclose(file) || rename(hidden, path)) {
        perror(path);
        exit(1);
    }
}

static void read_handle(const char *folder, int target, void *handle)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d-%d", folder, rank, target);
    FILE *file;
    while (!(file = fopen(path, "r"))) {
        check_progress("waiting for a handle");
        usleep(1000);
    }
    if (fread(handle, HANDLE_BYTES, 1, file) != 1) {
        perror(path);
        exit(1);
    }
    fclose(file);
    progressed();
}

static void register_end(struct end *end)
{
    size_t bytes = (size_t)WINDOW * GROUP_MOST * (most_bytes + 8);
    end->bytes = malloc(bytes);
    if (!end->bytes)
        abort();
    GOOD(CALL(&plugin, regMr, (end->comm, end->bytes, bytes, 1, &end->memory)));
}

static void connect_all(const char *folder)
{
    void *listeners[RANKS_MOST];
    for (int i = 0; i < ranks; i++) {
        unsigned char handle[HANDLE_BYTES];
        memset(handle, 0xEE, sizeof handle);
        listeners[i] = NULL;
        if (i == rank)
            continue;
        GOOD(plug_listen(&plugin, 0, handle, &listeners[i]));
        write_handle(folder, i, handle);
    }
    for (int step = 1; step < ranks; step++) {
        int target = (rank + step) % ranks, source = (rank + ranks - step) % ranks;
        unsigned char handle[HANDLE_BYTES];
        read_handle(folder, target, handle);
        while (!to[target].comm || !from[source].comm) {
            if (!to[target].comm)
                GOOD(plug_connect(&plugin, 0, handle, &to[target].comm));
            if (!from[source].comm)
                GOOD(CALL(&plugin, accept, (listeners[source], &from[source].comm, NULL)));
            check_progress("connecting");
        }
        progressed();
        GOOD(CALL(&plugin, closeListen, (listeners[source])));
        register_end(&to[target]);
        register_end(&from[source]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 9) {
        fprintf(stderr, "drive LIBRARY VERSION RANK RANKS FOLDER ROUNDS MOST_BYTES SEED\n");
        return 2;
    }
    plugin.version = atoi(argv[2]), rank = atoi(argv[3]), ranks = atoi(argv[4]);
    long rounds = atol(argv[6]);
    most_bytes = (size_t)atol(argv[7]), seed = (uint64_t)atoll(argv[8]);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    char symbol[40];
    snprintf(symbol, sizeof symbol, "ncclNetPlugin_v%d", plugin.version);
    plugin.table = dlsym(library, symbol);
    if (!plugin.table || ranks > RANKS_MOST) {
        fprintf(stderr, "no %s, or too many ranks\n", symbol);
        return 1;
    }
    last_progress = now();
    GOOD(plug_init(&plugin, say));
    int count = 0;
    GOOD(CALL(&plugin, devices, (&count)));
    int speed = plug_speed(&plugin);
    if (count != 1 || speed <= 0) {
        fprintf(stderr, "rank %d: %d devices of rate %d\n", rank, count, speed);
        return 1;
    }
    connect_all(argv[5]);
    printf("rank %d: connected\n", rank);
    fflush(stdout);
    progressed();
    longest_stall = 0;
    double begun = now();
    for (int busy = 1; busy;) {
        busy = 0;
        for (int i = 0; i < ranks; i++) {
            if (i == rank)
                continue;
            recv_some(i, rounds);
            send_some(i, rounds);
            test_receives(i);
            test_sends(i);
            busy |= to[i].under_way || from[i].under_way || to[i].rounds < rounds || from[i].rounds < rounds;
        }
        check_progress("exchanging");
    }
    double took = now() - begun;
    for (int i = 0; i < ranks; i++) {
        if (i == rank)
            continue;
        GOOD(CALL(&plugin, deregMr, (to[i].comm, to[i].memory)));
        GOOD(CALL(&plugin, deregMr, (from[i].comm, from[i].memory)));
        GOOD(CALL(&plugin, closeSend, (to[i].comm)));
        GOOD(CALL(&plugin, closeRecv, (from[i].comm)));
        free(to[i].bytes), free(from[i].bytes);
    }
    GOOD(plug_finalize(&plugin));
    printf("rank %d: speed %d messages %ld bytes %llu wrong %ld stall_ms %.0f seconds %.3f\n", rank, speed,
           messages, bytes_received, wrong, longest_stall * 1e3, took);
    dlclose(library);
    return wrong ? 5 : 0;
}
