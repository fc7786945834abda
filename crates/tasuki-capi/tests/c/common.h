/* Functions and macros of all test programs, which are compiled as C and as C++. */
#ifndef COMMON_H
#define COMMON_H

#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tasuki.h>

/* Ends the program if a condition does not hold. */
#define EXPECT(condition)                                                                                  \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #condition,        \
                    tasuki_last_error());                                                                  \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

/* Ends the program if a call returns anything else than the code. */
#define CODE(call, code)                                                                                   \
    do {                                                                                                   \
        int got_ = (call);                                                                                 \
        if (got_ != (code)) {                                                                              \
            fprintf(stderr, "%s:%d: %s gave %d (%s), not %d (last error: %s)\n", __FILE__, __LINE__,       \
                    #call, got_, tasuki_strerror(got_), (int)(code), tasuki_last_error());                 \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

#define GOOD(call) CODE(call, TASUKI_OK)

/* Byte i of the message number `seed`. */
static inline unsigned char byte_of(uint64_t seed, size_t i)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;
    return (unsigned char)(x >> 56);
}

static inline void fill(unsigned char *bytes, uint64_t seed, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bytes[i] = byte_of(seed, i);
    }
}

static inline int is_filled(const unsigned char *bytes, uint64_t seed, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != byte_of(seed, i)) {
            fprintf(stderr, "byte %zu of message %llu is wrong\n", i, (unsigned long long)seed);
            return 0;
        }
    }
    return 1;
}

static inline unsigned char *memory(size_t len)
{
    unsigned char *bytes = (unsigned char *)malloc(len ? len : 1);
    EXPECT(bytes != NULL);
    memset(bytes, 0xee, len);
    return bytes;
}

/* Opens an endpoint that reaches others on this host by the carrier that is named: shm (shared memory) or udp
 * (packets over loopback). */
static inline tasuki_endpoint *open_by(const char *carrier)
{
    tasuki_options options;
    GOOD(tasuki_options_init(&options, sizeof options));
    options.shm = strcmp(carrier, "shm") == 0;
    options.identity = "127.0.0.1";
    tasuki_endpoint *endpoint;
    GOOD(tasuki_open(&options, &endpoint));
    EXPECT(endpoint != NULL);
    return endpoint;
}

/* Waits for the next completion. */
static inline tasuki_completion next(tasuki_endpoint *endpoint)
{
    tasuki_completion done;
    CODE(tasuki_wait(endpoint, &done, 1, -1), 1);
    return done;
}

/* Waits for the next completion, which must be the success of this operation. */
static inline tasuki_completion next_is(tasuki_endpoint *endpoint, int kind, uint64_t context)
{
    tasuki_completion done = next(endpoint);
    EXPECT(done.kind == kind);
    EXPECT(done.context == context);
    GOOD(done.status);
    return done;
}

#endif
