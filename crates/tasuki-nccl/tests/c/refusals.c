/* What the plug-in refuses, and with which code: 3 internal, 4 argument, 5 usage, 6 remote. Two ends in one
 * process, version 12 of the interface.
 *
 *     refusals LIBRARY
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

static char said[4096];

static void say(int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
    (void)flags, (void)file, (void)line;
    va_list arguments;
    va_start(arguments, format);
    if (level == 2)
        vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
}

#define GIVES(CODE, CALL_)                                                                                 \
    do {                                                                                                   \
        int code_ = (CALL_);                                                                               \
        if (code_ != (CODE)) {                                                                             \
            printf("line %d: %s gave %d, not %d\n", __LINE__, #CALL_, code_, CODE);                        \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)
#define SAYS(TEXT)                                                                                         \
    do {                                                                                                   \
        if (!strstr(said, TEXT)) {                                                                         \
            printf("line %d: the log says \"%s\", not %s\n", __LINE__, said, TEXT);                        \
            exit(1);                                                                                       \
        }                                                                                                  \
        said[0] = 0;                                                                                       \
    } while (0)

static int finish(const struct table12 *net, void *request, int *size)
{
    int done = 0, code = 0;
    while (!done && !code)
        code = net->test(request, &done, size);
    return code;
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        printf("%s\n", argc == 2 ? dlerror() : "refusals LIBRARY");
        return 2;
    }
    const struct table12 *net = dlsym(library, "ncclNetPlugin_v12");
    const struct table8 *old = dlsym(library, "ncclNetPlugin_v8");
    void *context = NULL, *listener = NULL, *to = NULL, *from = NULL, *memory = NULL, *request = NULL;
    unsigned char handle[HANDLE_BYTES], other[HANDLE_BYTES] = {0};
    char bytes[100] = "bytes";

    /* Before init; a variable that cannot be. */
    GIVES(3, old->listen(0, handle, &listener));
    setenv("TASUKI_SHM", "perhaps", 1);
    GIVES(5, net->init(&context, 1, NULL, say, NULL));
    SAYS("TASUKI_SHM=perhaps");
    GIVES(5, old->init(say));
    unsetenv("TASUKI_SHM");
    setenv("TASUKI_RAILS", "/nonexistent/rails.json", 1);
    GIVES(2, net->init(&context, 1, NULL, say, NULL));
    SAYS("/nonexistent/rails.json");
    unsetenv("TASUKI_RAILS");
    GIVES(4, net->init(NULL, 1, NULL, say, NULL));
    GIVES(0, net->init(&context, 1, NULL, say, NULL));
    GIVES(0, net->setNetAttr(context, NULL));

    /* Devices, null pointers, handles of others. */
    struct properties12 properties;
    GIVES(4, net->getProperties(1, &properties));
    GIVES(4, net->getProperties(0, NULL));
    GIVES(4, net->devices(NULL));
    GIVES(4, net->listen(context, 1, handle, &listener));
    SAYS("device 1");
    GIVES(4, net->listen(NULL, 0, handle, &listener));
    GIVES(4, net->listen(context, 0, NULL, &listener));
    GIVES(4, net->listen(context, 0, handle, NULL));
    GIVES(5, net->connect(context, 0, other, &to, NULL));
    SAYS("NCCL_NET_PLUGIN=tasuki");
    GIVES(0, net->listen(context, 0, handle, &listener));
    memcpy(other, handle, sizeof other);
    other[4] ^= 2;
    GIVES(5, net->connect(context, 0, other, &to, NULL));
    SAYS("another version");
    memcpy(other, handle, sizeof other);
    other[12] ^= 0xFF;
    GIVES(5, net->connect(context, 0, other, &to, NULL));
    GIVES(4, net->accept(NULL, &from, NULL));
    GIVES(0, net->accept(listener, &from, NULL));
    if (from)
        GIVES(0, 1);

    /* A connection of this process with itself. */
    GIVES(0, net->connect(context, 0, handle, &to, NULL));
    while (!from)
        GIVES(0, net->accept(listener, &from, NULL));
    GIVES(3, net->regMr(to, bytes, sizeof bytes, 2, &memory));
    SAYS("GPU");
    GIVES(0, net->regMr(to, bytes, sizeof bytes, 1, &memory));
    GIVES(4, net->isend(to, NULL, 5, 0, memory, NULL, &request));
    GIVES(4, net->isend(NULL, bytes, 5, 0, memory, NULL, &request));
    void *data[GROUP_MOST + 1] = {bytes};
    size_t sizes[GROUP_MOST + 1] = {50};
    int tags[GROUP_MOST + 1] = {0}, size = -1;
    GIVES(3, net->irecv(from, 0, data, sizes, tags, &memory, NULL, &request));
    GIVES(3, net->irecv(from, GROUP_MOST + 1, data, sizes, tags, &memory, NULL, &request));
    GIVES(4, net->irecv(from, 1, data, NULL, tags, &memory, NULL, &request));
    GIVES(4, net->irecv(from, 1, data, sizes, NULL, &memory, NULL, &request));
    GIVES(4, net->test(NULL, &size, &size));

    /* A message that fits; one that does not: an error that stays, and no byte behind the buffer. */
    void *sent = NULL;
    char room[60];
    memset(room, 7, sizeof room);
    data[0] = room;
    GIVES(0, net->irecv(from, 1, data, sizes, tags, &memory, NULL, &request));
    GIVES(0, net->isend(to, bytes, 6, 0, memory, NULL, &sent));
    GIVES(0, finish(net, sent, &size));
    GIVES(6, size);
    GIVES(0, finish(net, request, &size));
    GIVES(6, size);
    GIVES(0, strcmp(room, "bytes"));
    GIVES(0, net->iflush(from, 1, data, &size, &memory, &request));
    if (request)
        GIVES(0, 1);
    GIVES(0, net->irecv(from, 1, data, sizes, tags, &memory, NULL, &request));
    GIVES(0, net->isend(to, bytes, 100, 0, memory, NULL, &sent));
    GIVES(5, finish(net, request, &size));
    SAYS("100 bytes came for a receive of 50");
    GIVES(5, finish(net, request, &size));
    GIVES(7, room[50]);
    GIVES(0, finish(net, sent, &size));

    /* Memory is given back, and the connection closed, with a receive under way. */
    GIVES(0, net->irecv(from, 1, data, sizes, tags, &memory, NULL, &request));
    void *announced = NULL;
    GIVES(0, net->regMr(from, room, sizeof room, 1, &announced));
    GIVES(0, net->deregMr(from, announced));
    GIVES(6, finish(net, request, &size));
    GIVES(0, net->irecv(from, 1, data, sizes, tags, &memory, NULL, &request));
    GIVES(0, net->deregMr(to, memory));
    /* So it is with a send that waits for a receiver who does not come. */
    size_t much = 8 << 20;
    char *pages = calloc(1, much);
    int done = 1;
    GIVES(0, net->regMr(to, pages, much, 1, &announced));
    GIVES(0, net->isend(to, pages, much, 1, announced, NULL, &sent));
    for (int i = 0; i < 100; i++)
        GIVES(0, net->test(sent, &done, &size));
    GIVES(0, done);
    GIVES(0, net->deregMr(to, announced));
    free(pages);
    GIVES(6, finish(net, sent, &size));
    GIVES(0, net->closeRecv(from));
    GIVES(0, net->closeSend(to));
    GIVES(0, net->closeListen(listener));
    /* Communicators that share a context may each finalize it, and one may go on. */
    GIVES(0, net->finalize(context));
    GIVES(0, net->finalize(context));
    GIVES(0, net->listen(context, 0, handle, &listener));
    GIVES(0, net->closeListen(listener));
    GIVES(0, net->finalize(context));
    GIVES(0, net->finalize(NULL));
    GIVES(0, net->closeSend(NULL));

    /* After all that another communicator begins anew, with the process's context of older versions too. */
    GIVES(0, old->init(say));
    GIVES(0, old->listen(0, handle, &listener));
    GIVES(0, old->closeListen(listener));
    GIVES(0, old->listen(0, handle, &listener));
    GIVES(0, old->closeListen(listener));
    printf("all refused\n");
    return dlclose(library);
}
