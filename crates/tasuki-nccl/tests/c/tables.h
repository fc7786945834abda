/* NCCL's network interface as far as the tests call it, versions 8 to 12: declared anew from its description
 * (plugins/net of NCCL's source), so that a slip in the plug-in's own declarations shows. */
#ifndef TABLES_H
#define TABLES_H

#include <stddef.h>
#include <stdint.h>

typedef int result_t;
typedef void (*logger_t)(int level, unsigned long flags, const char *file, int line, const char *format, ...);

#define HANDLE_BYTES 128
#define GROUP_MOST 8

/* Properties: those of version 8, then of 9 and 10, of 11, of 12. */
struct properties8 {
    char *name, *pciPath;
    uint64_t guid;
    int ptrSupport, regIsGlobal, speed, port;
    float latency;
    int maxComms, maxRecvs, netDeviceType, netDeviceVersion;
};
#define PROPERTIES9(DEVICES)                                                                               \
    char *name, *pciPath;                                                                                  \
    uint64_t guid;                                                                                         \
    int ptrSupport, regIsGlobal, forceFlush, speed, port;                                                  \
    float latency;                                                                                         \
    int maxComms, maxRecvs, netDeviceType, netDeviceVersion;                                               \
    struct {                                                                                               \
        int ndevs, devs[DEVICES];                                                                          \
    } vProps;                                                                                              \
    size_t maxP2pBytes, maxCollBytes;
struct properties9 {
    PROPERTIES9(4)
};
struct properties11 {
    PROPERTIES9(4)
    int maxMultiRequestSize;
};
struct properties12 {
    PROPERTIES9(8)
    int maxMultiRequestSize;
    int16_t railId, planeId;
};

/* Tables. INIT, LISTEN, CONNECT, SEND, RECV: parameters. */
#define TABLE(PROPERTIES, INIT, LISTEN, CONNECT, SEND, RECV)                                               \
    const char *name;                                                                                      \
    result_t(*init) INIT;                                                                                  \
    result_t (*devices)(int *count);                                                                       \
    result_t (*getProperties)(int device, struct PROPERTIES *);                                            \
    result_t(*listen) LISTEN;                                                                              \
    result_t(*connect) CONNECT;                                                                            \
    result_t (*accept)(void *listener, void **comm, void **offload);                                       \
    result_t (*regMr)(void *comm, void *data, size_t bytes, int type, void **memory);                      \
    result_t (*regMrDmaBuf)(void *, void *, size_t, int, uint64_t, int, void **);                          \
    result_t (*deregMr)(void *comm, void *memory);                                                         \
    result_t(*isend) SEND;                                                                                 \
    result_t(*irecv) RECV;                                                                                 \
    result_t (*iflush)(void *comm, int n, void **data, int *sizes, void **memory, void **request);         \
    result_t (*test)(void *request, int *done, int *sizes);                                                \
    result_t (*closeSend)(void *), (*closeRecv)(void *), (*closeListen)(void *);                           \
    result_t (*getDeviceMr)(void *, void *, void **), (*irecvConsumed)(void *, int, void *);

struct table8 {
    TABLE(properties8, (logger_t), (int, void *, void **), (int, void *, void **, void **),
          (void *, void *, int, int, void *, void **),
          (void *, int, void **, int *, int *, void **, void **))
};
struct table9 {
    TABLE(properties9, (logger_t), (int, void *, void **), (int, void *, void **, void **),
          (void *, void *, size_t, int, void *, void **),
          (void *, int, void **, size_t *, int *, void **, void **))
    result_t (*makeVDevice)(int *, void *);
};
struct table10 {
    TABLE(properties9, (logger_t, void *), (int, void *, void **), (int, void *, void *, void **, void **),
          (void *, void *, size_t, int, void *, void *, void **),
          (void *, int, void **, size_t *, int *, void **, void **, void **))
    result_t (*makeVDevice)(int *, void *);
};
#define TABLE11(PROPERTIES)                                                                                \
    TABLE(PROPERTIES, (void **, uint64_t, void *, logger_t, void *), (void *, int, void *, void **),       \
          (void *, int, void *, void **, void **), (void *, void *, size_t, int, void *, void *, void **), \
          (void *, int, void **, size_t *, int *, void **, void **, void **))                              \
    result_t (*makeVDevice)(int *, void *);                                                                \
    result_t (*finalize)(void *context);                                                                   \
    result_t (*setNetAttr)(void *context, void *attributes);
struct table11 {
    TABLE11(properties11)
};
struct table12 {
    TABLE11(properties12)
};

/* A table of any of these versions. */
struct plugin {
    int version;
    const void *table;
    void *context;
};

/* CALL(plugin, function, (arguments)) for functions that are the same in all versions. */
#define CALL(P, FUNCTION, ARGUMENTS)                                                                       \
    ((P)->version == 8    ? ((const struct table8 *)(P)->table)->FUNCTION ARGUMENTS                        \
     : (P)->version == 9  ? ((const struct table9 *)(P)->table)->FUNCTION ARGUMENTS                        \
     : (P)->version == 10 ? ((const struct table10 *)(P)->table)->FUNCTION ARGUMENTS                       \
     : (P)->version == 11 ? ((const struct table11 *)(P)->table)->FUNCTION ARGUMENTS                       \
                          : ((const struct table12 *)(P)->table)->FUNCTION ARGUMENTS)

static inline result_t plug_init(struct plugin *p, logger_t log)
{
    int configuration = -1;
    switch (p->version) {
    case 8:
        return ((const struct table8 *)p->table)->init(log);
    case 9:
        return ((const struct table9 *)p->table)->init(log);
    case 10:
        return ((const struct table10 *)p->table)->init(log, NULL);
    case 11:
        return ((const struct table11 *)p->table)->init(&p->context, 7, &configuration, log, NULL);
    default:
        return ((const struct table12 *)p->table)->init(&p->context, 7, &configuration, log, NULL);
    }
}

/* The device's rate in Mbit/s, after a look at what else must hold; negative if something does not. */
static inline int plug_speed(struct plugin *p)
{
#define LOOK(N, PROPERTIES, MORE)                                                                          \
    case N: {                                                                                              \
        struct PROPERTIES q;                                                                               \
        __builtin_memset(&q, 0xEE, sizeof q);                                                              \
        if (((const struct table##N *)p->table)->getProperties(0, &q) != 0)                                \
            return -1;                                                                                     \
        int good = q.name && !q.pciPath && q.ptrSupport == 1 && q.maxRecvs == GROUP_MOST &&                \
                   q.maxComms > 1000 && q.netDeviceType == 0 && q.latency == 0 && q.port == 0 MORE;        \
        return good ? q.speed : -2;                                                                        \
    }
#define MORE9                                                                                              \
    &&q.vProps.ndevs == 1 && q.vProps.devs[0] == 0 && q.maxP2pBytes >= 1 << 30 &&                          \
        q.maxCollBytes == q.maxP2pBytes &&q.forceFlush == 0
    switch (p->version) {
        LOOK(8, properties8, )
        LOOK(9, properties9, MORE9)
        LOOK(10, properties9, MORE9)
        LOOK(11, properties11, MORE9 && q.maxMultiRequestSize == 1)
        LOOK(12, properties12, MORE9 && q.maxMultiRequestSize == 1 && q.railId == -1 && q.planeId == -1)
    }
    return -3;
}

static inline result_t plug_listen(struct plugin *p, int device, void *handle, void **listener)
{
    switch (p->version) {
    case 11:
    case 12:
        return ((const struct table11 *)p->table)->listen(p->context, device, handle, listener);
    default:
        return ((const struct table8 *)p->table)->listen(device, handle, listener);
    }
}

static inline result_t plug_connect(struct plugin *p, int device, void *handle, void **comm)
{
    void *offload = NULL;
    int configuration = -1;
    switch (p->version) {
    case 8:
    case 9:
        return ((const struct table8 *)p->table)->connect(device, handle, comm, &offload);
    case 10:
        return ((const struct table10 *)p->table)->connect(device, &configuration, handle, comm, &offload);
    default:
        return ((const struct table11 *)p->table)->connect(p->context, device, handle, comm, &offload);
    }
}

static inline result_t plug_send(struct plugin *p, void *comm, void *data, size_t bytes, int tag,
                                 void *memory, void **request)
{
    switch (p->version) {
    case 8:
        return ((const struct table8 *)p->table)->isend(comm, data, (int)bytes, tag, memory, request);
    case 9:
        return ((const struct table9 *)p->table)->isend(comm, data, bytes, tag, memory, request);
    default:
        return ((const struct table10 *)p->table)->isend(comm, data, bytes, tag, memory, NULL, request);
    }
}

static inline result_t plug_recv(struct plugin *p, void *comm, int n, void **data, size_t *bytes, int *tags,
                                 void **memory, void **request)
{
    int small[GROUP_MOST + 1] = {0};
    void *profiler[GROUP_MOST + 1] = {0};
    switch (p->version) {
    case 8:
        for (int i = 0; bytes && i < n && i <= GROUP_MOST; i++)
            small[i] = (int)bytes[i];
        return ((const struct table8 *)p->table)->irecv(comm, n, data, bytes ? small : NULL, tags, memory,
                                                         request);
    case 9:
        return ((const struct table9 *)p->table)->irecv(comm, n, data, bytes, tags, memory, request);
    default:
        return ((const struct table10 *)p->table)->irecv(comm, n, data, bytes, tags, memory, profiler,
                                                          request);
    }
}

static inline result_t plug_finalize(struct plugin *p)
{
    return p->version >= 11 ? ((const struct table11 *)p->table)->finalize(p->context) : 0;
}

#endif
