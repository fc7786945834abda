/* Programs that can go on, though no message may move for a while: no hang is to be seen in them. */
#include "deadlocks.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

static void others_wait(void) { AT("MPI_Barrier", "-"); MPI_Barrier(world); }

static void computes(void)
{
    volatile double sum = 0;
    while (rank == 2)
        sum += 1;
    others_wait();
}

static void sleeps(void)
{
    if (rank == 2)
        sleep(250);
    others_wait();
}

static void waits_for_a_file(void)
{
    struct stat file;
    while (rank == 2 && stat("/never/there", &file))
        usleep(1000);
    others_wait();
}

static void reads_a_pipe(void)
{
    int ends[2];
    if (rank == 2 && pipe(ends) == 0 && read(ends[0], buffer, 1) == 0)
        return;
    others_wait();
}

static void one_of_a_chain_computes(void)
{
    volatile double sum = 0;
    while (rank == 2)
        sum += 1;
    AT("MPI_Recv", name_of(NEXT)); RECV(NEXT, 1, world);
}

static void stops_itself(void)
{
    if (rank == 2)
        raise(SIGSTOP);
    AT("MPI_Recv", name_of(NEXT)); RECV(NEXT, 1, world);
}

static void polls(void)
{
    int found = 0;
    while (!found)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, world, &found, MPI_STATUS_IGNORE);
}

static void tests(void)
{
    MPI_Request request;
    int found = 0;
    IRECV(NEXT, 1, &request);
    while (!found)
        MPI_Test(&request, &found, MPI_STATUS_IGNORE);
}

static void one_polls(void)
{
    int found = 0;
    while (rank == 2 && !found)
        MPI_Iprobe(0, 1, world, &found, MPI_STATUS_IGNORE);
    AT("MPI_Recv", name_of(NEXT)); RECV(NEXT, 1, world);
}

static void *sender(void *unused)
{
    sleep(240);
    SEND(1, LAST, 1, world);
    return unused;
}

static void another_thread_sends(void)
{
    pthread_t thread;
    if (rank == 0)
        pthread_create(&thread, NULL, sender, NULL);
    AT("MPI_Recv", name_of(NEXT)); RECV(NEXT, 1, world);
}

static void slow(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)out, (void)count, (void)type;
    sleep(240);
}

static void reduces_slowly(void)
{
    MPI_Op op;
    int one = 1, sum;
    MPI_Op_create(slow, 1, &op);
    MPI_Reduce(&one, &sum, 1, MPI_INT, op, 0, world);
    if (rank > 0) { AT("MPI_Recv", "0"); RECV(0, 1, world); }
}

static void moves(void)
{
    for (;;)
        MPI_Sendrecv(buffer, 8, MPI_BYTE, NEXT, 1, buffer + 8, 8, MPI_BYTE, LAST, 1, world,
            MPI_STATUS_IGNORE);
}

static void moves_slowly(void)
{
    for (;;) {
        MPI_Sendrecv(buffer, 8, MPI_BYTE, NEXT, 1, buffer + 8, 8, MPI_BYTE, LAST, 1, world,
            MPI_STATUS_IGNORE);
        usleep(500000);
    }
}

static void long_messages(void)
{
    char *much = calloc(1, 600 << 20);
    if (rank == 0) MPI_Send(much, 600 << 20, MPI_BYTE, 1, 1, world);
    if (rank == 1) MPI_Recv(much, 600 << 20, MPI_BYTE, 0, 1, world, MPI_STATUS_IGNORE);
    others_wait();
}

/* A put that takes seconds on a slow cable, the rank's only one. */
static void puts_much(void)
{
    char *memory;
    MPI_Win window;
    const int bytes = 400 << 20;
    char *from = calloc(1, bytes);
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, world, &memory, &window);
    MPI_Win_fence(0, window);
    if (rank == 0)
        MPI_Put(from, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static const struct program all[] = {
    {"computes", 3, "late", computes},
    {"sleeps", 3, "late", sleeps},
    {"waits_for_a_file", 3, "late", waits_for_a_file},
    {"reads_a_pipe", 3, "late", reads_a_pipe},
    {"one_of_a_chain_computes", 3, "late", one_of_a_chain_computes},
    {"stops_itself", 3, "late|suspected", stops_itself},
    {"polls", 3, "suspected", polls},
    {"tests", 3, "suspected", tests},
    {"one_polls", 3, "suspected", one_polls},
    {"another_thread_sends", 3, "late|suspected", another_thread_sends},
    {"reduces_slowly", 3, "suspected", reduces_slowly},
    {"moves", 3, "goes-on", moves},
    {"moves_slowly", 3, "goes-on", moves_slowly},
    {"long_messages", 3, "goes-on", long_messages},
    {"puts_much", 3, "goes-on|suspected", puts_much},
};
MAIN(all)
