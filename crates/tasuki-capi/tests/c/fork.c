/* A child process closes its copy of an endpoint and opens its own, while the parent's endpoint goes on
 * working. */
#include "common.h"
#include <sys/wait.h>
#include <unistd.h>

static tasuki_peer add(tasuki_endpoint *endpoint, tasuki_endpoint *to)
{
    unsigned char address[TASUKI_ADDRESS_LEN];
    tasuki_peer peer;
    GOOD(tasuki_address(to, address));
    GOOD(tasuki_add_peer(endpoint, address, &peer));
    return peer;
}

/* Sends one message from an endpoint to another of the same process. */
static void exchange(tasuki_endpoint *from, tasuki_endpoint *to)
{
    unsigned char out[5000], in[5000];
    fill(out, 1, sizeof out);
    GOOD(tasuki_recv(to, TASUKI_ANY_SOURCE, in, sizeof in, 0, 1));
    GOOD(tasuki_send(from, add(from, to), out, sizeof out, 0, 2));
    next_is(to, TASUKI_RECV, 1);
    next_is(from, TASUKI_SEND, 2);
    EXPECT(is_filled(in, 1, sizeof in));
}

int main(int argc, char **argv)
{
    EXPECT(argc == 2);
    tasuki_endpoint *one = open_by(argv[1]), *two = open_by(argv[1]);
    exchange(one, two);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        tasuki_close(one);
        tasuki_close(two);
        one = open_by(argv[1]);
        two = open_by(argv[1]);
        exchange(one, two);
        tasuki_close(one);
        tasuki_close(two);
        _exit(0);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    exchange(two, one);
    tasuki_close(one);
    tasuki_close(two);
    puts("good");
    return 0;
}
