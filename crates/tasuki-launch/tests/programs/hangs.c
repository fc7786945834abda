/* Programs that hang, or only seem to, one for each name: `hangs NAME`. They say when they begin, and end by
   themselves after five minutes. Ranks are two or more. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char *buffer;
enum { LONG = 1 << 20 };

static void receive(int from, int tag)
{
    MPI_Recv(buffer, LONG, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int bytes, int to, int tag)
{
    MPI_Send(buffer, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

/* All receive first. */
static void crossed(void)
{
    receive((rank + 1) % size, 1);
    send(1, (rank + size - 1) % size, 1);
}

/* The tag is another one than is waited for; the sender waits for an answer. */
static void tags(void)
{
    if (rank == 0)
        send(1, 1, 1);
    receive(rank == 0 ? 1 : 0, 2);
}

/* Long messages, head to head. */
static void heads(void)
{
    send(LONG, (rank + 1) % size, 1);
    receive((rank + size - 1) % size, 1);
}

/* One rank is in another collective function. */
static void order(void)
{
    int one = 1, sum;
    if (rank == size - 1)
        receive(0, 1);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* The last rank sleeps. */
static void sleeps(void)
{
    if (rank == size - 1)
        sleep(250);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Messages move, without an end. */
static void moves(void)
{
    for (;;)
        MPI_Sendrecv(buffer, 8, MPI_BYTE, (rank + 1) % size, 1, buffer + 8, 8, MPI_BYTE,
                     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A put that takes seconds at 100 Mbit/s, the rank's only one. */
static void puts_much(void)
{
    char *memory;
    MPI_Win window;
    const int bytes = 400 << 20;
    char *from = calloc(1, bytes);
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    if (rank == 0)
        MPI_Put(from, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* All look for a message that none sends. */
static void polls(void)
{
    int found = 0;
    while (!found)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"crossed", crossed}, {"tags", tags},     {"heads", heads}, {"order", order},
               {"sleeps", sleeps},   {"moves", moves},   {"polls", polls},
               {"puts", puts_much}};
    MPI_Init(&argc, &argv);
    alarm(300);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buffer = calloc(1, LONG);
    MPI_Barrier(MPI_COMM_WORLD);
    puts("begun");
    fflush(stdout);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name))
            all[i].run();
    MPI_Finalize();
    return 0;
}
