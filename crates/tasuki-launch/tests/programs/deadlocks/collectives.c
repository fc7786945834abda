/* Collective operations that not all ranks call, or not in the same order (MPI 4.1, section 6.14). */
#include "deadlocks.h"

static int one = 1, sum[8], all_of[8];

/* The last rank is in a receive from the first one, which all the others wait for. */
static void last_receives(void)
{
    if (rank == size - 1) { AT("MPI_Recv", "0"); RECV(0, 1, world); }
}

static void barrier(void) { last_receives(); AT("MPI_Barrier", "-"); MPI_Barrier(world); }
static void allreduce(void) { last_receives(); AT("MPI_Allreduce", "-"); MPI_Allreduce(&one, sum, 1,
    MPI_INT, MPI_SUM, world); }
static void allgather(void) { last_receives(); AT("MPI_Allgather", "-"); MPI_Allgather(&one, 1, MPI_INT,
    all_of, 1, MPI_INT, world); }
static void alltoall(void) { last_receives(); AT("MPI_Alltoall", "-"); MPI_Alltoall(sum, 1, MPI_INT,
    all_of, 1, MPI_INT, world); }
static void split(void) { last_receives(); AT("MPI_Comm_split", "-"); MPI_Comm_split(world, 0, rank, &part); }
static void duplicate(void) { last_receives(); AT("MPI_Comm_dup", "-"); MPI_Comm_dup(world, &part); }

static void reduce_scatter(void)
{
    last_receives();
    AT("MPI_Reduce_scatter_block", "-"); MPI_Reduce_scatter_block(all_of, sum, 1, MPI_INT, MPI_SUM, world);
}

static void gather(void)
{
    last_receives();
    if (rank > 0) { MPI_Gather(&one, 1, MPI_INT, all_of, 1, MPI_INT, 0, world); AT("MPI_Recv",
        "0"); RECV(0, 1, world); }
    AT("MPI_Gather", "-"); MPI_Gather(&one, 1, MPI_INT, all_of, 1, MPI_INT, 0, world);
}

static void scatter(void)
{
    if (rank == 0) { AT("MPI_Recv", "1"); RECV(1, 1, world); }
    AT("MPI_Scatter", "-"); MPI_Scatter(all_of, 1, MPI_INT, sum, 1, MPI_INT, 0, world);
}

static void broadcast(void)
{
    if (rank == 0) { AT("MPI_Recv", "1"); RECV(1, 1, world); }
    AT("MPI_Bcast", "-"); MPI_Bcast(all_of, 1, MPI_INT, 0, world);
}

static void roots_of_broadcast(void) { AT("MPI_Bcast", "-"); MPI_Bcast(all_of, 1, MPI_INT, NEXT, world); }
static void roots_of_reduce(void) { AT("MPI_Reduce", "-"); MPI_Reduce(&one, sum, 1, MPI_INT, MPI_SUM, rank,
    world); }

static void scan(void)
{
    if (rank == 0) { AT("MPI_Recv", "2"); RECV(2, 1, world); }
    AT("MPI_Scan", "-"); MPI_Scan(&one, sum, 1, MPI_INT, MPI_SUM, world);
}

static void two_operations(void)
{
    if (rank == 0) { AT("MPI_Barrier", "-"); MPI_Barrier(world); }
    AT("MPI_Allreduce", "-"); MPI_Allreduce(&one, sum, 1, MPI_INT, MPI_SUM, world);
}

static void two_communicators(void)
{
    AT("MPI_Barrier", "-"); MPI_Barrier(rank == 0 ? world : other);
}

static void part_of_the_ranks(void)
{
    if (rank == 0) { AT("MPI_Barrier", "1"); MPI_Barrier(part); }
    AT("MPI_Barrier", "-"); MPI_Barrier(world);
}

static void barrier_request(void)
{
    MPI_Request request;
    last_receives();
    MPI_Ibarrier(world, &request);
    AT("MPI_Wait", "-"); WAIT(&request);
}

static void broadcast_request(void)
{
    MPI_Request request;
    if (rank == 0) { AT("MPI_Recv", "1"); RECV(1, 1, world); }
    MPI_Ibcast(all_of, 1, MPI_INT, 0, world, &request);
    AT("MPI_Wait", "-"); WAIT(&request);
}

static void allreduce_request(void)
{
    MPI_Request request;
    last_receives();
    MPI_Iallreduce(&one, sum, 1, MPI_INT, MPI_SUM, world, &request);
    AT("MPI_Waitall", "-"); MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

static void neighbours(void)
{
    MPI_Comm ring;
    int cyclic = 1;
    MPI_Cart_create(world, 1, &size, &cyclic, 0, &ring);
    last_receives();
    AT("MPI_Neighbor_allgather", "-"); MPI_Neighbor_allgather(&one, 1, MPI_INT, all_of, 1, MPI_INT, ring);
}

static void received_in_the_middle(void)
{
    if (rank == 1) { AT("MPI_Recv", "0"); RECV(0, 1, world); }
    AT("MPI_Barrier", "-"); MPI_Barrier(world);
}

/* Epochs of windows (MPI 4.1, section 12.5): what ends these functions is not counted as messages are. */
static MPI_Win window(void)
{
    MPI_Win made;
    MPI_Win_create(buffer, LONG, 1, MPI_INFO_NULL, world, &made);
    return made;
}

static void fence(void)
{
    MPI_Win made = window();
    last_receives();
    AT("MPI_Win_fence", "-"); MPI_Win_fence(0, made);
    AT("MPI_Recv", "2"); RECV(2, 1, world);
}

static void exposure(void)
{
    MPI_Win made = window();
    MPI_Group group, first;
    int zero = 0;
    MPI_Comm_group(world, &group);
    MPI_Group_incl(group, 1, &zero, &first);
    if (rank == 0) { AT("MPI_Recv", "1"); RECV(1, 1, world); }
    MPI_Win_start(first, 0, made);
    MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, made);
    AT("MPI_Win_complete", "-"); MPI_Win_complete(made);
}

static const struct program all[] = {
    {"barrier", 3, "stuck", barrier},
    {"allreduce", 3, "stuck", allreduce},
    {"allgather", 3, "stuck", allgather},
    {"alltoall", 3, "stuck", alltoall},
    {"split", 3, "stuck", split},
    {"duplicate", 3, "stuck", duplicate},
    {"reduce_scatter", 3, "stuck", reduce_scatter},
    {"gather", 3, "stuck", gather},
    {"scatter", 3, "stuck", scatter},
    {"broadcast", 3, "stuck", broadcast},
    {"roots_of_broadcast", 3, "stuck", roots_of_broadcast},
    {"roots_of_reduce", 3, "stuck", roots_of_reduce},
    {"scan", 3, "stuck", scan},
    {"two_operations", 3, "stuck", two_operations},
    {"two_communicators", 3, "stuck", two_communicators},
    {"part_of_the_ranks", 3, "stuck", part_of_the_ranks},
    {"barrier_request", 3, "stuck", barrier_request},
    {"broadcast_request", 3, "stuck", broadcast_request},
    {"allreduce_request", 3, "stuck", allreduce_request},
    {"neighbours", 3, "stuck", neighbours},
    {"received_in_the_middle", 3, "stuck", received_in_the_middle},
    {"fence", 3, "suspected", fence},
    {"exposure", 3, "suspected", exposure},
};
MAIN(all)
