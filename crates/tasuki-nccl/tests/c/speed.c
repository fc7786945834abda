/* How fast the plug-in is between two ranks: half of the time of a round trip of BYTES, or the rate at which
 * WINDOW sends of BYTES at a time arrive, as NCCL's channels have them under way.
 *
 *     speed LIBRARY RANK FOLDER pingpong|stream BYTES ROUNDS
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tables.h"

#define WINDOW 4

static struct plugin plugin = {.version = 12};

#define GOOD(CALL_)                                                                                        \
    do {                                                                                                   \
        result_t code_ = (CALL_);                                                                          \
        if (code_ != 0) {                                                                                  \
            fprintf(stderr, "%s gave %d\n", #CALL_, code_);                                                \
            exit(3);                                                                                       \
        }                                                                                                  \
    } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void finish(void *request)
{
    for (int done = 0; !done;)
        GOOD(CALL(&plugin, test, (request, &done, NULL)));
}

static void *begin_send(void *comm, void *data, size_t bytes)
{
    void *request = NULL;
    GOOD(plug_send(&plugin, comm, data, bytes, 0, NULL, &request));
    return request;
}

static void *begin_recv(void *comm, void *data, size_t bytes)
{
    void *request = NULL, *memory = NULL;
    int tag = 0;
    GOOD(plug_recv(&plugin, comm, 1, &data, &bytes, &tag, &memory, &request));
    return request;
}

static void *connect_with(const char *folder, int rank, void **from)
{
    unsigned char handle[HANDLE_BYTES];
    char own[4096], hidden[4100], other[4096];
    void *listener = NULL, *to = NULL;
    snprintf(own, sizeof own, "%s/%d", folder, rank), snprintf(other, sizeof other, "%s/%d", folder, !rank);
    snprintf(hidden, sizeof hidden, "%s.new", own);
    GOOD(plug_listen(&plugin, 0, handle, &listener));
    FILE *file = fopen(hidden, "w");
    if (!file || fwrite(handle, sizeof handle, 1, file) != 1 || fclose(file) || rename(hidden, own))
        exit(1);
    while (!(file = fopen(other, "r")))
        usleep(1000);
    if (fread(handle, sizeof handle, 1, file) != 1)
        exit(1);
    fclose(file);
    while (!to || !*from) {
        if (!to)
            GOOD(plug_connect(&plugin, 0, handle, &to));
        GOOD(CALL(&plugin, accept, (listener, from, NULL)));
    }
    GOOD(CALL(&plugin, closeListen, (listener)));
    return to;
}

static double pingpong(void *to, void *from, char *data, size_t bytes, long rounds, int rank)
{
    double begun = now();
    for (long i = 0; i < rounds; i++) {
        void *reply = begin_recv(from, data, bytes);
        if (rank)
            finish(reply);
        finish(begin_send(to, data, bytes));
        if (!rank)
            finish(reply);
    }
    return (now() - begun) / (double)rounds / 2;
}

static double stream(void *to, void *from, char *data, size_t bytes, long rounds, int rank)
{
    void *window[WINDOW] = {0};
    double begun = now();
    for (long i = 0; i < rounds + WINDOW; i++) {
        void **slot = &window[i % WINDOW];
        if (*slot)
            finish(*slot);
        char *place = data + (size_t)(i % WINDOW) * bytes;
        *slot = i >= rounds ? NULL : rank ? begin_recv(from, place, bytes) : begin_send(to, place, bytes);
    }
    /* The receiver's answer ends the time. */
    finish(rank ? begin_send(to, data, 1) : begin_recv(from, data, 1));
    return (now() - begun) / (double)rounds;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "speed LIBRARY RANK FOLDER pingpong|stream BYTES ROUNDS\n");
        return 2;
    }
    int rank = atoi(argv[2]), streams = !strcmp(argv[4], "stream");
    size_t bytes = (size_t)atol(argv[5]);
    long rounds = atol(argv[6]);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *from = NULL;
    plugin.table = library ? dlsym(library, "ncclNetPlugin_v12") : NULL;
    char *data = malloc(bytes * WINDOW + 1);
    if (!plugin.table || !data)
        return 1;
    memset(data, 1, bytes * WINDOW + 1);
    GOOD(plug_init(&plugin, NULL));
    void *to = connect_with(argv[3], rank, &from);
    for (int trial = 0; trial < 4; trial++) {
        double took = (streams ? stream : pingpong)(to, from, data, bytes, rounds, rank);
        /* The first warms up. */
        if (!rank && trial)
            printf("%zu bytes: %.2f us, %.3f Gbit/s\n", bytes, took * 1e6, (double)bytes * 8e-9 / took);
    }
    GOOD(CALL(&plugin, closeSend, (to)));
    GOOD(CALL(&plugin, closeRecv, (from)));
    GOOD(plug_finalize(&plugin));
    free(data);
    return 0;
}
