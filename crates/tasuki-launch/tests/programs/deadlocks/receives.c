/* Receives that nothing matches (MPI 4.1, chapter 3). */
#include "deadlocks.h"

static void crossed(void) { AT("MPI_Recv", name_of(NEXT)); RECV(NEXT, 1, world); }

/* MPICH keeps messages of a rank to itself. */
static void from_itself(void)
{
    if (rank == 0) { AT("MPI_Recv", "-"); RECV(0, 1, world); }
    AT("MPI_Recv", "0"); RECV(0, 2, world);
}

static void tag_of_send(void)
{
    if (rank == 0) SEND(1, 1, 1, world);
    if (rank == 0) { AT("MPI_Recv", "1"); RECV(1, 2, world); }
    AT("MPI_Recv", "0"); RECV(0, 2, world);
}

static void tag_of_request(void)
{
    MPI_Request request;
    SEND(1, NEXT, 10 + rank, world);
    IRECV(LAST, 10 + rank, &request);
    AT("MPI_Wait", name_of(LAST)); WAIT(&request);
}

static void source(void)
{
    if (rank == 1) SEND(1, 0, 1, world);
    if (rank == 0) { AT("MPI_Recv", "2"); RECV(2, 1, world); }
    AT("MPI_Recv", "0"); RECV(0, 1, world);
}

static void communicator(void)
{
    SEND(1, NEXT, 1, other);
    AT("MPI_Recv", name_of(LAST)); RECV(LAST, 1, world);
}

static void any_source(void) { AT("MPI_Recv", "any"); RECV(MPI_ANY_SOURCE, 1, world); }

static void any_source_other_tag(void)
{
    SEND(1, NEXT, 6, world);
    AT("MPI_Recv", "any"); RECV(MPI_ANY_SOURCE, 5, world);
}

static void any_tag(void) { AT("MPI_Recv", name_of(LAST)); RECV(LAST, MPI_ANY_TAG, world); }

static void any_took_it(void)
{
    if (rank == 1) SEND(1, 0, 1, world);
    MPI_Barrier(world);
    if (rank == 0) {
        RECV(MPI_ANY_SOURCE, 1, world);
        AT("MPI_Recv", "1"); RECV(1, 1, world);
    }
    AT("MPI_Recv", "0"); RECV(0, 1, world);
}

static void one_of_two(void)
{
    MPI_Request requests[2];
    SEND(1, NEXT, 1, world);
    IRECV(LAST, 1, &requests[0]);
    IRECV(NEXT, 2, &requests[1]);
    AT("MPI_Waitall", name_of(NEXT)); MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void either(void)
{
    MPI_Request requests[2];
    int index;
    IRECV(LAST, 1, &requests[0]);
    IRECV(NEXT, 2, &requests[1]);
    AT("MPI_Waitany", rank == 0 ? "1,2" : rank == 1 ? "0,2" : "0,1"); MPI_Waitany(2, requests, &index,
        MPI_STATUS_IGNORE);
}

static void some(void)
{
    MPI_Request request;
    int count, index;
    IRECV(NEXT, 1, &request);
    AT("MPI_Waitsome", name_of(NEXT)); MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
}

static void both_ways(void)
{
    AT("MPI_Sendrecv", name_of(NEXT)); MPI_Sendrecv(buffer, 1, MPI_BYTE, NEXT, 1, buffer + 8, 1, MPI_BYTE,
        NEXT, 1, world, MPI_STATUS_IGNORE);
}

static void replaced(void)
{
    AT("MPI_Sendrecv_replace", name_of(LAST)); MPI_Sendrecv_replace(buffer, 1, MPI_BYTE, NEXT, 1, LAST, 2,
        world, MPI_STATUS_IGNORE);
}

static void probed(void) { AT("MPI_Probe", "-"); MPI_Probe(NEXT, 1, world, MPI_STATUS_IGNORE); }

static void probed_and_matched(void)
{
    MPI_Message message;
    AT("MPI_Mprobe", "-"); MPI_Mprobe(NEXT, 1, world, &message, MPI_STATUS_IGNORE);
}

static void one_more(void)
{
    for (int i = 0; i < 3; i++)
        SEND(1, NEXT, 1, world);
    for (int i = 0; i < 3; i++)
        RECV(LAST, 1, world);
    AT("MPI_Recv", name_of(LAST)); RECV(LAST, 1, world);
}

static void to_itself(void)
{
    if (rank == 0) SEND(1, 0, 1, world);
    if (rank == 0) { AT("MPI_Recv", "1"); RECV(1, 2, world); }
    AT("MPI_Recv", "0"); RECV(0, 1, world);
}

/* The ranks of `part` are in the opposite order of those of the world. */
static void numbered_otherwise(void)
{
    if (rank == size - 1) { AT("MPI_Recv", "0"); RECV(0, 9, world); }
    int inner = size - 2 - rank;
    if (rank == 1) SEND(1, 0, 1, part);
    AT("MPI_Recv", name_of(rank == 0 ? 1 : 0)); RECV(inner == 0 ? 1 : 0, 1, part);
}

static void started(void)
{
    MPI_Request request;
    MPI_Recv_init(buffer, 8, MPI_BYTE, NEXT, 1, world, &request);
    MPI_Start(&request);
    AT("MPI_Wait", name_of(NEXT)); WAIT(&request);
}

static void workers(void)
{
    if (rank > 0) {
        SEND(1, 0, 1, world);
        AT("MPI_Recv", "0"); RECV(0, 2, world);
    }
    for (int i = 1; i < size; i++)
        RECV(MPI_ANY_SOURCE, 1, world);
    AT("MPI_Recv", "any"); RECV(MPI_ANY_SOURCE, 1, world);
}

/* Four ranks in a circle, and two that wait for it. */
static void circle_of_four(void)
{
    if (rank > 3) { AT("MPI_Recv", name_of(rank - 2)); RECV(rank - 2, 1, world); }
    AT("MPI_Recv", name_of((rank + 1) % 4)); RECV((rank + 1) % 4, 1, world);
}

/* Two wait for each other, the third computes. */
static void beside_work(void)
{
    volatile double sum = 0;
    while (rank == 2)
        sum += 1;
    AT("MPI_Recv", name_of(1 - rank)); RECV(1 - rank, 1, world);
}

/* Two wait for each other, and two exchange messages without an end. */
static void beside_messages(void)
{
    while (rank > 1)
        MPI_Sendrecv(buffer, 8, MPI_BYTE, 5 - rank, 1, buffer + 8, 8, MPI_BYTE, 5 - rank, 1, world,
            MPI_STATUS_IGNORE);
    AT("MPI_Recv", name_of(1 - rank)); RECV(1 - rank, 1, world);
}

static const struct program all[] = {
    {"crossed", 3, "stuck", crossed},
    {"from_itself", 3, "stuck", from_itself},
    {"tag_of_send", 3, "stuck", tag_of_send},
    {"tag_of_request", 3, "stuck", tag_of_request},
    {"source", 3, "stuck", source},
    {"communicator", 3, "stuck", communicator},
    {"any_source", 3, "stuck", any_source},
    {"any_source_other_tag", 3, "stuck", any_source_other_tag},
    {"any_tag", 3, "stuck", any_tag},
    {"any_took_it", 3, "stuck", any_took_it},
    {"one_of_two", 3, "stuck", one_of_two},
    {"either", 3, "stuck", either},
    {"some", 3, "stuck", some},
    {"both_ways", 3, "stuck", both_ways},
    {"replaced", 3, "stuck", replaced},
    {"probed", 3, "stuck", probed},
    {"probed_and_matched", 3, "stuck", probed_and_matched},
    {"one_more", 3, "stuck", one_more},
    {"to_itself", 3, "stuck", to_itself},
    {"numbered_otherwise", 3, "stuck", numbered_otherwise},
    {"started", 3, "stuck", started},
    {"workers", 3, "stuck", workers},
    {"circle_of_four", 6, "stuck", circle_of_four},
    {"beside_work", 3, "stuck", beside_work},
    {"beside_messages", 4, "stuck", beside_messages},
};
MAIN(all)
