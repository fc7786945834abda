/* The wrappers. Waiting is the time until something is there: in MPI_Wait and MPI_Waitall, in the second half
 * of MPI_Recv (which is a receive and a wait), and before collective operations until the last rank has come
 * (found with a barrier of our own, only while profiling). Communication is the rest of the time inside MPI,
 * computation the rest of all. */
#include "profile.h"
#include "nas.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_PENDING = 1024 };

/* A receive that has been started; its buffer is of interest when it completes. */
struct pending {
    MPI_Request request;
    void *buffer;
    size_t bytes;
    int peer, tag;
};

static struct profile_options wanted;
static int own_rank;
static bool asked, active;      /* any option given; and in the timed section */
static double origin;
static double communication, waiting;
static double messages, bytes_sent;
static struct pending pending[MOST_PENDING];
static int pendings;

void profile_prepare(const struct profile_options *options)
{
    int ranks;
    PMPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    wanted = *options;
    asked = wanted.table || wanted.trace || wanted.damage || wanted.digest;
    if (wanted.digest) digest_prepare();
    int victim = wanted.damage_rank < 0 ? ranks - 1 : wanted.damage_rank;
    if (wanted.damage && victim == own_rank) damage_prepare(wanted.damage, wanted.damage_bit);
}

void profile_begin(double now)
{
    active = asked;
    origin = now;
    if (wanted.trace) trace_call(now, now);
}

void profile_end(double now)
{
    if (active && wanted.trace) trace_add("end", -1, 0, -1, now, now);
    active = false;
}

static size_t size_of(MPI_Datatype type, int count)
{
    int each = 0;
    PMPI_Type_size(type, &each);
    return (size_t)each * (size_t)count;
}

/* A call that began at `begin` is over: its time belongs to `share`, and is no computation. Returns now. */
static double in_mpi(double begin, double *share)
{
    double end = nas_now();
    *share += end - begin;
    if (wanted.trace) trace_call(begin, end);
    return end;
}

static void sent(const char *what, int peer, size_t bytes, int tag, double begin, double end)
{
    communication += end - begin;
    messages++;
    bytes_sent += (double)bytes;
    if (wanted.trace) trace_add(what, peer, bytes, tag, begin, end);
}

static void received(const struct pending *message, double begin, double end)
{
    if (wanted.trace) trace_add("recv", message->peer, message->bytes, message->tag, begin, end);
    damage_received(message->buffer, message->bytes);
    digest_received(message->peer, message->buffer, message->bytes);
}

static void remember(MPI_Request request, void *buffer, size_t bytes, int peer, int tag)
{
    if (pendings == MOST_PENDING) {
        fprintf(stderr, "more than %d receives at once: profile, trace and damage cannot follow\n",
                MOST_PENDING);
        MPI_Abort(MPI_COMM_WORLD, NAS_MEMORY);
    }
    pending[pendings++] = (struct pending){request, buffer, bytes, peer, tag};
}

/* Takes the receive of this request from the list; false if the request is not a receive of ours. */
static bool recall(MPI_Request request, struct pending *found)
{
    for (int i = 0; i < pendings; i++) {
        if (pending[i].request != request) continue;
        *found = pending[i];
        pending[i] = pending[--pendings];
        return true;
    }
    return false;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    if (!active || to == MPI_PROC_NULL) return PMPI_Send(buffer, count, type, to, tag, comm);
    double begin = nas_now();
    int result = PMPI_Send(buffer, count, type, to, tag, comm);
    sent("send", to, size_of(type, count), tag, begin, nas_now());
    digest_sent(to, buffer, size_of(type, count));
    return result;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (!active || to == MPI_PROC_NULL) return PMPI_Isend(buffer, count, type, to, tag, comm, request);
    double begin = nas_now();
    int result = PMPI_Isend(buffer, count, type, to, tag, comm, request);
    sent("send", to, size_of(type, count), tag, begin, nas_now());
    digest_sent(to, buffer, size_of(type, count));
    return result;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (!active || from == MPI_PROC_NULL) return PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    double begin = nas_now();
    int result = PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    remember(*request, buffer, size_of(type, count), from, tag);
    in_mpi(begin, &communication);
    return result;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct pending message;
    bool receive = active && recall(*request, &message);
    double begin = active ? nas_now() : 0;
    int result = PMPI_Wait(request, status);
    if (!active) return result;
    double end = in_mpi(begin, &waiting);
    if (receive) received(&message, begin, end);
    return result;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    if (!active) return PMPI_Waitall(count, requests, statuses);
    struct pending list[MOST_PENDING];
    int receives = 0;
    for (int i = 0; i < count; i++)
        if (recall(requests[i], &list[receives])) receives++;
    double begin = nas_now();
    int result = PMPI_Waitall(count, requests, statuses);
    double end = in_mpi(begin, &waiting);
    for (int i = 0; i < receives; i++) received(&list[i], begin, end);
    return result;
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    if (!active) return PMPI_Recv(buffer, count, type, from, tag, comm, status);
    MPI_Request request;
    int result = MPI_Irecv(buffer, count, type, from, tag, comm, &request);
    return result == MPI_SUCCESS ? MPI_Wait(&request, status) : result;
}

/* Waits for the last rank; when it came. */
static double gather_all(MPI_Comm comm)
{
    double begin = nas_now();
    if (wanted.table) PMPI_Barrier(comm);
    return in_mpi(begin, &waiting);
}

int MPI_Barrier(MPI_Comm comm)
{
    if (!active) return PMPI_Barrier(comm);
    double begin = nas_now();
    int result = PMPI_Barrier(comm);
    double end = nas_now();
    waiting += end - begin;
    if (wanted.trace) trace_add("barrier", -1, 0, -1, begin, end);
    return result;
}

/* What all ranks get alike from a collective operation. */
static void shared_result(void *result, size_t bytes)
{
    damage_received(result, bytes);
    digest_shared(result, bytes);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (!active) return PMPI_Bcast(buffer, count, type, root, comm);
    double begin = gather_all(comm);
    int result = PMPI_Bcast(buffer, count, type, root, comm);
    sent("bcast", root, size_of(type, count), -1, begin, nas_now());
    shared_result(buffer, size_of(type, count));
    return result;
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm)
{
    if (!active) return PMPI_Allreduce(mine, all, count, type, operation, comm);
    double begin = gather_all(comm);
    int result = PMPI_Allreduce(mine, all, count, type, operation, comm);
    sent("allreduce", -1, size_of(type, count), -1, begin, nas_now());
    shared_result(all, size_of(type, count));
    return result;
}

int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int each, MPI_Datatype all_type,
                  MPI_Comm comm)
{
    if (!active) return PMPI_Allgather(mine, count, type, all, each, all_type, comm);
    int ranks;
    PMPI_Comm_size(comm, &ranks);
    double begin = gather_all(comm);
    int result = PMPI_Allgather(mine, count, type, all, each, all_type, comm);
    sent("allgather", -1, size_of(all_type, each), -1, begin, nas_now());
    shared_result(all, size_of(all_type, each) * (size_t)ranks);
    return result;
}

/* Counts one message for each other rank. */
static void sent_to_all(int ranks, const int *counts, int same, MPI_Datatype type)
{
    for (int rank = 0; rank < ranks; rank++) {
        if (rank == own_rank) continue;
        messages++;
        bytes_sent += (double)size_of(type, counts ? counts[rank] : same);
    }
}

/* An exchange of unequal pieces has no name in the trace: it is its messages, all sent before the first is
 * waited for. */
static void trace_exchange(int ranks, const int *counts, MPI_Datatype type, const int *in_counts,
                           MPI_Datatype in_type, double begin, double end)
{
    for (int rank = 0; rank < ranks; rank++)
        if (rank != own_rank) trace_add("send", rank, size_of(type, counts[rank]), -1, begin, end);
    for (int rank = 0; rank < ranks; rank++)
        if (rank != own_rank) trace_add("recv", rank, size_of(in_type, in_counts[rank]), -1, begin, end);
}

int MPI_Alltoall(const void *out, int count, MPI_Datatype type, void *in, int in_count, MPI_Datatype in_type,
                 MPI_Comm comm)
{
    if (!active) return PMPI_Alltoall(out, count, type, in, in_count, in_type, comm);
    int ranks;
    PMPI_Comm_size(comm, &ranks);
    double begin = gather_all(comm);
    int result = PMPI_Alltoall(out, count, type, in, in_count, in_type, comm);
    double end = nas_now();
    communication += end - begin;
    sent_to_all(ranks, NULL, count, type);
    if (wanted.trace) trace_add("alltoall", -1, size_of(type, count), -1, begin, end);
    size_t bytes_out = size_of(type, count), bytes_in = size_of(in_type, in_count);
    damage_received(in, bytes_in * (size_t)ranks);
    for (int rank = 0; rank < ranks; rank++) {
        digest_sent(rank, (const char *)out + bytes_out * (size_t)rank, bytes_out);
        digest_received(rank, (const char *)in + bytes_in * (size_t)rank, bytes_in);
    }
    return result;
}

int MPI_Alltoallv(const void *out, const int *counts, const int *offsets, MPI_Datatype type, void *in,
                  const int *in_counts, const int *in_offsets, MPI_Datatype in_type, MPI_Comm comm)
{
    if (!active)
        return PMPI_Alltoallv(out, counts, offsets, type, in, in_counts, in_offsets, in_type, comm);
    int ranks;
    PMPI_Comm_size(comm, &ranks);
    double begin = gather_all(comm);
    int result = PMPI_Alltoallv(out, counts, offsets, type, in, in_counts, in_offsets, in_type, comm);
    double end = nas_now();
    communication += end - begin;
    sent_to_all(ranks, counts, 0, type);
    if (wanted.trace) trace_exchange(ranks, counts, type, in_counts, in_type, begin, end);
    size_t each_out = size_of(type, 1), each_in = size_of(in_type, 1);
    for (int rank = 0; rank < ranks; rank++) {
        char *piece = (char *)in + each_in * (size_t)in_offsets[rank];
        damage_received(piece, each_in * (size_t)in_counts[rank]);
        digest_received(rank, piece, each_in * (size_t)in_counts[rank]);
        digest_sent(rank, (const char *)out + each_out * (size_t)offsets[rank],
                    each_out * (size_t)counts[rank]);
    }
    return result;
}

/* The times of the ranks, as a table of rank, computation, communication, waiting (seconds), messages,
 * bytes. */
static void print_table(double seconds)
{
    enum { COLUMNS = 5 };
    int ranks;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double mine[COLUMNS] = {seconds - communication - waiting, communication, waiting, messages, bytes_sent};
    double *all = nas_memory((size_t)ranks * COLUMNS, sizeof *all), sum[COLUMNS] = {0};
    PMPI_Gather(mine, COLUMNS, MPI_DOUBLE, all, COLUMNS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    nas_say(" %-8s %12s %14s %12s %10s %16s\n", "Rank", "Computation", "Communication", "Waiting", "Messages",
            "Bytes sent");
    for (int i = 0; own_rank == 0 && i <= ranks; i++) {
        double row[COLUMNS];
        char name[16] = "mean";
        if (i < ranks) snprintf(name, sizeof name, "%d", i);
        for (int c = 0; c < COLUMNS; c++) {
            row[c] = i < ranks ? all[i * COLUMNS + c] : sum[c] / ranks;
            sum[c] += row[c];
        }
        nas_say(" %-8s %12.6f %14.6f %12.6f %10.0f %16.0f\n", name, row[0], row[1], row[2], row[3], row[4]);
    }
    free(all);
}

bool profile_report(const char *kernel, char class, double seconds)
{
    bool complete = true;
    if (wanted.table) print_table(seconds);
    if (wanted.trace && !trace_write(wanted.trace, kernel, class, origin)) complete = false;
    if (!damage_done()) {
        fprintf(stderr, "fewer messages were received than the one to damage\n");
        complete = false;
    }
    return nas_everywhere(complete);
}
