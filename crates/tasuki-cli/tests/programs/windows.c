/* windows [ROUNDS]: one-sided operations of all ranks on all others at once, with results that MPI 4.1
 * (chapter 12) says: put and get in every kind of epoch, sums, tickets, and a lock made of compare and
 * swap. */
#include "proof.h"

#include <stdint.h>
#include <stdlib.h>

enum { MOST = 64, LONG = 20000, TICKETS = 0, LOCK = 1, GUARDED = 2, SUM = 3, LARGEST = 4, SLOTS = 8 };

static int rank, ranks, wrong;

static void expect(const char *what, double is, double should) {
    if (is != should) {
        printf("rank %d: %s is %.17g, should be %.17g\n", rank, what, is, should);
        wrong = 1;
    }
}

static int64_t value(int from, int to, int round) {
    return ((int64_t)round << 32) + from * 1000 + to;
}

/* Everybody writes into its own slot at everybody, by fences. */
static void fences(MPI_Win window, int64_t *memory, int round) {
    int64_t own[MOST];
    MPI_Win_fence(0, window);
    for (int to = 0; to < ranks; to++) {
        own[to] = value(rank, to, round);
        MPI_Put(&own[to], 1, MPI_INT64_T, to, SLOTS + rank, 1, MPI_INT64_T, window);
    }
    MPI_Win_fence(0, window);
    for (int from = 0; from < ranks; from++)
        expect("what was put between fences", memory[SLOTS + from], value(from, rank, round));
    MPI_Win_fence(0, window);
}

/* The next rank exposes its memory to this one, and this one's is exposed to the one before. */
static void ring(MPI_Win window, int64_t *memory, int round, MPI_Group world) {
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    static int64_t sent[LONG];
    MPI_Group group_to, group_from;
    MPI_Group_incl(world, 1, &to, &group_to);
    MPI_Group_incl(world, 1, &from, &group_from);
    for (int i = 0; i < LONG; i++)
        sent[i] = value(rank, i, round);
    MPI_Win_post(group_from, 0, window);
    MPI_Win_start(group_to, 0, window);
    MPI_Put(sent, LONG, MPI_INT64_T, to, SLOTS + MOST, LONG, MPI_INT64_T, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    for (int i = 0; i < LONG; i++)
        expect("what the neighbour put", memory[SLOTS + MOST + i], value(from, i, round));
    MPI_Group_free(&group_to);
    MPI_Group_free(&group_from);
}

/* Tickets of rank 0 are given once each; a lock of compare and swap guards a counter that is read and
 * written. */
static void shared(MPI_Win window, int rounds) {
    static int64_t tickets[1000];
    int64_t one = 1, zero = 0, mine = rank + 1, was, guarded;
    double real = rank + 0.5;
    int32_t narrow = rank + 1;
    for (int i = 0; i < rounds; i++) {
        MPI_Fetch_and_op(&one, &tickets[i], MPI_INT64_T, 0, TICKETS, MPI_SUM, window);
        MPI_Win_flush(0, window);
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, SUM, 1, MPI_INT64_T, MPI_SUM, window);
        do {
            MPI_Compare_and_swap(&mine, &zero, &was, MPI_INT64_T, 0, LOCK, window);
            MPI_Win_flush(0, window);
        } while (was != 0);
        MPI_Get(&guarded, 1, MPI_INT64_T, 0, GUARDED, 1, MPI_INT64_T, window);
        MPI_Win_flush(0, window);
        guarded++;
        MPI_Put(&guarded, 1, MPI_INT64_T, 0, GUARDED, 1, MPI_INT64_T, window);
        MPI_Win_flush(0, window);
        MPI_Fetch_and_op(&zero, &was, MPI_INT64_T, 0, LOCK, MPI_REPLACE, window);
        MPI_Win_flush(0, window);
        expect("the owner of the lock", was, mine);
    }
    MPI_Accumulate(&real, 1, MPI_DOUBLE, 0, LARGEST, 1, MPI_DOUBLE, MPI_MAX, window);
    MPI_Accumulate(&narrow, 1, MPI_INT32_T, 0, SLOTS - 1, 1, MPI_INT32_T, MPI_SUM, window);
    MPI_Win_flush_all(window);
    for (int i = 1; i < rounds; i++)
        if (tickets[i] <= tickets[i - 1])
            expect("a later ticket", tickets[i], tickets[i - 1] + 1);
    /* The sum of 0, 1, 2, ... shows that no ticket was given twice and none was left out. */
    int64_t sum = 0, all = 0, count = (int64_t)ranks * rounds;
    for (int i = 0; i < rounds; i++)
        sum += tickets[i];
    MPI_Allreduce(&sum, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    expect("the sum of all tickets", all, count * (count - 1) / 2);
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int rounds = count > 1 ? atoi(arguments[1]) : 50;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > MOST || rounds > 1000)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Win window;
    MPI_Group world;
    int64_t *memory;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_allocate((SLOTS + MOST + LONG) * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &memory, &window);
    for (int i = 0; i < SLOTS + MOST + LONG; i++)
        memory[i] = 0;
    for (int round = 0; round < 5; round++)
        fences(window, memory, round);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 5; round++)
        ring(window, memory, round, world);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    shared(window, rounds);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double largest;
        int32_t narrow;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        memcpy(&largest, &memory[LARGEST], sizeof largest);
        memcpy(&narrow, &memory[SLOTS - 1], sizeof narrow);
        expect("the sum", memory[SUM], (double)ranks * rounds);
        expect("the guarded counter", memory[GUARDED], (double)ranks * rounds);
        expect("the largest", largest, ranks - 0.5);
        expect("the sum of 32 bits", narrow, ranks * (ranks + 1) / 2);
        MPI_Win_unlock(0, window);
    }
    MPI_Group_free(&world);
    MPI_Win_free(&window);
    int any = 0;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && !any)
        printf("windows ok\n");
    MPI_Finalize();
    return any;
}
