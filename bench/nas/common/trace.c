/* The communication trace: every rank's events in the timed section, gathered at the end on rank 0, which
 * writes them in the format that the simulator replays (docs/reference/trace-format.md). */
#include "nas.h"
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event {
    char what[12];
    int peer, tag;
    uint64_t bytes;
    double begin, end, computed;
};

static struct event *events;
static size_t used, room;
static bool lost; /* no memory for more events */
static double left_mpi;  /* when the last call ended */
static double computing; /* seconds between calls since the last event */

void trace_call(double begin, double end)
{
    if (left_mpi > 0 && begin > left_mpi) computing += begin - left_mpi;
    left_mpi = end;
}

void trace_add(const char *what, int peer, size_t bytes, int tag, double begin, double end)
{
    if (lost) return;
    trace_call(begin, end);
    if (used == room) {
        size_t more = room ? 2 * room : 4096;
        struct event *grown = realloc(events, more * sizeof *grown);
        if (!grown) {
            lost = true;
            return;
        }
        events = grown;
        room = more;
    }
    struct event *event = &events[used++];
    *event = (struct event){
        .peer = peer, .tag = tag, .bytes = bytes, .begin = begin, .end = end, .computed = computing};
    computing = 0;
    strncpy(event->what, what, sizeof event->what - 1);
}

static void write_events(FILE *file, int rank, const struct event *list, size_t count, double origin)
{
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &list[i];
        char peer[12] = "-";
        if (event->peer >= 0) snprintf(peer, sizeof peer, "%d", event->peer);
        fprintf(file, "%d %s %s %llu %.3f # %.3f %.3f %d\n", rank, event->what, peer,
                (unsigned long long)event->bytes, 1e6 * event->computed, 1e6 * (event->begin - origin),
                1e6 * (event->end - origin), event->tag);
    }
}

/* Rank 0: its own events, then those of the others one rank after the other, in pieces that an int can
 * count. */
static bool collect(FILE *file, int ranks, double origin)
{
    enum { PIECE = 1 << 16 };
    struct event *piece = malloc(PIECE * sizeof *piece);
    if (!piece) return false;
    write_events(file, 0, events, used, origin);
    for (int rank = 1; rank < ranks; rank++) {
        uint64_t left;
        double its_origin;
        PMPI_Recv(&left, 1, MPI_UINT64_T, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        PMPI_Recv(&its_origin, 1, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (left) {
            size_t now = left < PIECE ? left : PIECE;
            PMPI_Recv(piece, (int)(now * sizeof *piece), MPI_BYTE, rank, 1, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
            write_events(file, rank, piece, now, its_origin);
            left -= now;
        }
    }
    free(piece);
    return true;
}

static void hand_over(double origin)
{
    enum { PIECE = 1 << 16 };
    uint64_t count = used;
    PMPI_Send(&count, 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
    PMPI_Send(&origin, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    for (size_t at = 0; at < used; at += PIECE) {
        size_t now = used - at < PIECE ? used - at : PIECE;
        PMPI_Send(events + at, (int)(now * sizeof *events), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static bool write_file(const char *path, const char *kernel, char class, int ranks, double origin, FILE *file)
{
    fprintf(file, "tasuki-trace 1\nranks %d\n# %s, class %c\n", ranks, kernel, class);
    fprintf(file, "# rank event peer bytes compute_us # begin_us end_us tag\n");
    bool complete = collect(file, ranks, origin) && !ferror(file);
    if (fclose(file) || !complete) {
        perror(path);
        return false;
    }
    return true;
}

bool trace_write(const char *path, const char *kernel, char class, double origin)
{
    int rank, ranks, all_kept, kept = !lost, opened = 1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    FILE *file = rank == 0 ? fopen(path, "w") : NULL;
    if (rank == 0 && !file) {
        perror(path);
        opened = 0;
    }
    PMPI_Bcast(&opened, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!opened) return false;
    if (rank != 0) hand_over(origin);
    bool written = rank != 0 || write_file(path, kernel, class, ranks, origin, file);
    PMPI_Allreduce(&kept, &all_kept, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    free(events);
    return written && all_kept;
}
