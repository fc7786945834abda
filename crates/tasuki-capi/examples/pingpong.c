/*
 * pingpong.c - two programs that send messages to and fro, and the time that one takes.
 *
 *     cc -O2 -std=c11 -I include pingpong.c -o pingpong -L DIRECTORY_OF_LIBTASUKI -ltasuki
 *
 *     ./pingpong > address &      # on one host: writes its address to a file, and answers
 *     ./pingpong address          # on that host or another: reads the file, and measures
 *
 * The first program needs no address, because the other becomes known to it by its first message.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tasuki.h>
#include <time.h>

enum { LARGEST = 1 << 20, ROUNDS = 200, FROM_OTHER = 1, TO_OTHER = 2 };

static tasuki_endpoint *endpoint;
static unsigned char *out, *in;

static void check(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "pingpong: %s: %s (%s)\n", what, tasuki_last_error(), tasuki_strerror(code));
        exit(1);
    }
}

/* Waits for one completion, and ends the program if the operation has failed. */
static tasuki_completion next(void)
{
    tasuki_completion done;
    check(tasuki_wait(endpoint, &done, 1, -1), "waiting");
    check(done.status, done.kind == TASUKI_SEND ? "sending" : "receiving");
    return done;
}

/* Sends len bytes, and waits until the send is over and as many bytes have come back. */
static void throw_and_catch(tasuki_peer peer, size_t len)
{
    check(tasuki_recv(endpoint, peer, in, LARGEST, 0, FROM_OTHER), "tasuki_recv");
    check(tasuki_send(endpoint, peer, out, len, 0, TO_OTHER), "tasuki_send");
    for (int left = 2; left > 0; left--) {
        tasuki_completion done = next();
        if (done.kind == TASUKI_RECV && (done.len != len || memcmp(in, out, len) != 0)) {
            fprintf(stderr, "pingpong: what came back is not what was sent\n");
            exit(1);
        }
    }
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void measure(tasuki_peer peer)
{
    printf("%10s %12s %10s\n", "bytes", "one way, us", "MB/s");
    for (size_t len = 1; len <= LARGEST; len *= 4) {
        throw_and_catch(peer, len);
        double start = now_us();
        for (int round = 0; round < ROUNDS; round++) {
            throw_and_catch(peer, len);
        }
        double one_way = (now_us() - start) / ROUNDS / 2;
        printf("%10zu %12.2f %10.1f\n", len, one_way, (double)len / one_way);
    }
    /* An empty message ends the other program. */
    check(tasuki_send(endpoint, peer, NULL, 0, 0, TO_OTHER), "tasuki_send");
    next();
}

/* Sends back every message that comes, until an empty one comes. */
static void answer(void)
{
    for (;;) {
        check(tasuki_recv(endpoint, TASUKI_ANY_SOURCE, in, LARGEST, 0, FROM_OTHER), "tasuki_recv");
        tasuki_completion done = next();
        if (done.len == 0) {
            return;
        }
        check(tasuki_send(endpoint, done.peer, in, done.len, 0, TO_OTHER), "tasuki_send");
        next();
    }
}

static tasuki_peer read_peer(const char *path)
{
    char text[TASUKI_ADDRESS_TEXT_LEN] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) {
        fprintf(stderr, "pingpong: no address in %s: is it the output of the other program?\n", path);
        exit(1);
    }
    fclose(file);
    unsigned char address[TASUKI_ADDRESS_LEN];
    check(tasuki_address_parse(text, address), path);
    tasuki_peer peer;
    check(tasuki_add_peer(endpoint, address, &peer), "tasuki_add_peer");
    return peer;
}

int main(int argc, char **argv)
{
    check(tasuki_open(NULL, &endpoint), "tasuki_open");
    out = malloc(LARGEST);
    in = malloc(LARGEST);
    if (out == NULL || in == NULL) {
        fprintf(stderr, "pingpong: no memory\n");
        return 1;
    }
    for (size_t i = 0; i < LARGEST; i++) {
        out[i] = (unsigned char)(i * 31 + i / 251);
    }
    if (argc > 1) {
        measure(read_peer(argv[1]));
    } else {
        char text[TASUKI_ADDRESS_TEXT_LEN];
        check(tasuki_address_text(endpoint, text), "tasuki_address_text");
        puts(text);
        fflush(stdout);
        answer();
    }
    tasuki_close(endpoint);
    free(out);
    free(in);
    return 0;
}
