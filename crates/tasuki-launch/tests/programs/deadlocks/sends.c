/* Sends that nobody receives (MPI 4.1, sections 3.4 and 3.5). */
#include "deadlocks.h"

static void long_circle(void) { AT("MPI_Send", name_of(NEXT)); SEND(LONG, NEXT, 1, world); }

static void synchronous_circle(void) { AT("MPI_Ssend", name_of(NEXT)); MPI_Ssend(buffer, 1, MPI_BYTE, NEXT,
    1, world); }

static void synchronous_to_a_barrier(void)
{
    if (rank == 0) { AT("MPI_Ssend", "1"); MPI_Ssend(buffer, 1, MPI_BYTE, 1, 1, world); }
    AT("MPI_Barrier", "-"); MPI_Barrier(world);
}

static void long_request(void)
{
    MPI_Request request;
    MPI_Isend(buffer, LONG, MPI_BYTE, NEXT, 1, world, &request);
    AT("MPI_Wait", name_of(NEXT)); WAIT(&request);
}

static void synchronous_requests(void)
{
    MPI_Request requests[2];
    MPI_Issend(buffer, 1, MPI_BYTE, NEXT, 1, world, &requests[0]);
    MPI_Issend(buffer, 1, MPI_BYTE, LAST, 1, world, &requests[1]);
    AT("MPI_Waitall", rank == 0 ? "1,2" : rank == 1 ? "0,2" : "0,1"); MPI_Waitall(2, requests,
        MPI_STATUSES_IGNORE);
}

static void long_with_another_tag(void)
{
    if (rank == 0) { AT("MPI_Send", "1"); SEND(LONG, 1, 6, world); }
    AT("MPI_Recv", "any"); RECV(MPI_ANY_SOURCE, 5, world);
}

static void long_both_ways(void)
{
    AT("MPI_Sendrecv", rank == 0 ? "1,2" : rank == 1 ? "0,2" : "0,1"); MPI_Sendrecv(buffer, LONG, MPI_BYTE,
        NEXT, 1, buffer + LONG, LONG, MPI_BYTE, LAST, 2, world, MPI_STATUS_IGNORE);
}

/* Each takes the right fork by a synchronous message, then the left one. */
static void forks(void)
{
    AT("MPI_Ssend", name_of(NEXT)); MPI_Ssend(buffer, 4, MPI_BYTE, NEXT, 1, world);
    RECV(LAST, 1, world);
}

/* Even ranks send first, but with an odd number of ranks two neighbours do. */
static void odd_number(void)
{
    int from = rank % 2 ? LAST : NEXT;
    if (rank == 0) { AT("MPI_Ssend", "2"); MPI_Ssend(buffer, 1, MPI_BYTE, 2, 1, world); }
    if (rank == 2) { AT("MPI_Ssend", "0"); MPI_Ssend(buffer, 1, MPI_BYTE, 0, 1, world); }
    AT("MPI_Recv", "0"); RECV(from == 0 ? 0 : LAST, 1, world);
}

static void started(void)
{
    MPI_Request request;
    MPI_Ssend_init(buffer, 8, MPI_BYTE, NEXT, 1, world, &request);
    MPI_Start(&request);
    AT("MPI_Wait", name_of(NEXT)); WAIT(&request);
}

/* A message for a rank that waits for another one, which has got what it wanted. */
static void after_a_good_one(void)
{
    if (rank == 0) SEND(LONG, 2, 1, world);
    if (rank == 1) { AT("MPI_Send", "2"); SEND(LONG, 2, 1, world); }
    if (rank == 2) RECV(0, 1, world);
    AT("MPI_Recv", rank == 0 ? "2" : "0"); RECV(rank == 0 ? 2 : 0, 3, world);
}

static void on_another_communicator(void)
{
    if (rank == 0) { AT("MPI_Ssend", "1"); MPI_Ssend(buffer, 1, MPI_BYTE, 1, 1, other); }
    AT("MPI_Recv", "0"); RECV(0, 1, world);
}

static const struct program all[] = {
    {"long_circle", 3, "stuck", long_circle},
    {"synchronous_circle", 3, "stuck", synchronous_circle},
    {"synchronous_to_a_barrier", 3, "stuck", synchronous_to_a_barrier},
    {"long_request", 3, "stuck", long_request},
    {"synchronous_requests", 3, "stuck", synchronous_requests},
    {"long_with_another_tag", 3, "stuck", long_with_another_tag},
    {"long_both_ways", 3, "stuck", long_both_ways},
    {"forks", 3, "stuck", forks},
    {"odd_number", 3, "stuck", odd_number},
    {"started", 3, "stuck", started},
    {"after_a_good_one", 3, "stuck", after_a_good_one},
    {"on_another_communicator", 3, "stuck", on_another_communicator},
};
MAIN(all)
