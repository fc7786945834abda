/* mrecv: messages that MPI_Mprobe or MPI_Improbe has matched are received by MPI_Mrecv and MPI_Imrecv into
 * types with gaps, in another order than memory's, of several basic types; whole, in part, empty, longer
 * than there is room for, from nobody. */
#include "proof.h"

#include <stddef.h>

enum { TYPES = 5, SHORT = 7, LONG = 30000, GAP = -7 };

struct mixed {
    int number;
    double value;
    char letter;
};

static int other;

/* Types of which each takes `elements` doubles, or ints and doubles and letters, of memory with gaps. */
static MPI_Datatype vector, backwards, mixed, resized, plain;

static void make_types(void) {
    int lengths[3] = {1, 1, 1}, blocks[3] = {2, 1, 3}, places[3] = {5, 0, 1};
    MPI_Aint at[3] = {offsetof(struct mixed, number), offsetof(struct mixed, value),
                      offsetof(struct mixed, letter)};
    MPI_Datatype of[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, bare;
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &vector);
    /* Six doubles of eight, the last first. */
    MPI_Type_indexed(3, blocks, places, MPI_DOUBLE, &backwards);
    MPI_Type_create_struct(3, lengths, at, of, &bare);
    MPI_Type_create_resized(bare, 0, sizeof(struct mixed), &mixed);
    MPI_Type_free(&bare);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 3 * sizeof(double), &resized);
    MPI_Type_contiguous(4, MPI_DOUBLE, &plain);
    MPI_Datatype *all[TYPES] = {&vector, &backwards, &mixed, &resized, &plain};
    for (int i = 0; i < TYPES; i++)
        MPI_Type_commit(all[i]);
}

/* Bytes of memory that `count` elements take. */
static size_t memory_of(MPI_Datatype type, int count) {
    MPI_Aint low, extent, true_low, true_extent;
    MPI_Type_get_extent(type, &low, &extent);
    MPI_Type_get_true_extent(type, &true_low, &true_extent);
    return (size_t)(extent * count + true_low + true_extent);
}

/* What arrived must be what a pack of the same would give, and gaps untouched: unpacked into memory of its
 * own, it is compared whole. */
static void check(const void *got, size_t bytes, MPI_Datatype type, int count, const char *packed, int size,
                  const char *what) {
    char *right = proof_memory(bytes);
    int place = 0;
    memset(right, GAP, bytes);
    if (count > 0)
        MPI_Unpack(packed, size, &place, right, count, type, MPI_COMM_WORLD);
    for (size_t i = 0; i < bytes; i++)
        if (right[i] != ((const char *)got)[i])
            PROOF_FAIL("%s: byte %zu of %zu is %d, not %d", what, i, bytes, ((const char *)got)[i], right[i]);
    free(right);
}

/* Contents of `size` packed bytes. Letters, doubles and ints may be any bits: nobody calculates with them. */
static char *contents(int size, uint64_t key) {
    char *packed = proof_memory((size_t)size);
    proof_fill(packed, (size_t)size, key);
    return packed;
}

/* Sends packed bytes, so that what is received depends on the receiver's type alone. */
static void send(int bytes, int tag, int synchronous) {
    char *packed = contents(bytes, (uint64_t)tag);
    if (synchronous)
        MPI_Ssend(packed, bytes, MPI_PACKED, other, tag, MPI_COMM_WORLD);
    else
        MPI_Send(packed, bytes, MPI_PACKED, other, tag, MPI_COMM_WORLD);
    free(packed);
}

static void receive(MPI_Datatype type, int room, int sent, int tag, int later, const char *what) {
    MPI_Message message;
    MPI_Status status, probed;
    MPI_Request request;
    int size, count, elements;
    MPI_Type_size(type, &size);
    size_t bytes = memory_of(type, room);
    char *got = proof_memory(bytes), *packed = contents(sent * size, (uint64_t)tag);
    memset(got, GAP, bytes);
    if (later) {
        int found = 0;
        while (!found)
            MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, &message, &probed);
        MPI_Imrecv(got, room, type, &message, &request);
        if (later == 1)
            MPI_Wait(&request, &status);
        else
            for (int done = 0; !done;)
                MPI_Test(&request, &done, &status);
    } else {
        MPI_Mprobe(other, tag, MPI_COMM_WORLD, &message, &probed);
        MPI_Mrecv(got, room, type, &message, &status);
    }
    if (message != MPI_MESSAGE_NULL)
        PROOF_FAIL("%s: the message is still there", what);
    MPI_Get_count(&status, type, &count);
    MPI_Get_elements(&status, MPI_BYTE, &elements);
    if (status.MPI_SOURCE != other || status.MPI_TAG != tag || count != sent || elements != sent * size)
        PROOF_FAIL("%s: %d elements, %d bytes, tag %d, of rank %d", what, count, elements, status.MPI_TAG,
                   status.MPI_SOURCE);
    check(got, bytes, type, sent, packed, sent * size, what);
    free(got);
    free(packed);
}

/* A message may end within an element: what is there is received. */
static void part_of_an_element(int later) {
    struct mixed got = {.letter = GAP};
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    double value = 3.25;
    char packed[12];
    int number = 12345, count;
    memcpy(packed, &number, 4);
    memcpy(packed + 4, &value, 8);
    if (proof_rank == 0) {
        MPI_Send(packed, sizeof packed, MPI_PACKED, other, 900 + later, MPI_COMM_WORLD);
        return;
    }
    MPI_Mprobe(other, 900 + later, MPI_COMM_WORLD, &message, &status);
    if (later) {
        MPI_Imrecv(&got, 1, mixed, &message, &request);
        MPI_Wait(&request, &status);
    } else {
        MPI_Mrecv(&got, 1, mixed, &message, &status);
    }
    MPI_Get_count(&status, mixed, &count);
    if (count != MPI_UNDEFINED || got.number != number || got.value != value || got.letter != GAP)
        PROOF_FAIL("part of an element: count %d, %d, %g, %d", count, got.number, got.value, got.letter);
}

/* Too long a message is an error, and nothing behind the buffer is touched. */
static void too_long(void) {
    double got[8];
    MPI_Message message;
    MPI_Status status;
    if (proof_rank == 0) {
        send(9 * 24, 950, 0);
        return;
    }
    for (int i = 0; i < 8; i++)
        got[i] = GAP;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Mprobe(other, 950, MPI_COMM_WORLD, &message, &status);
    int error, result = MPI_Mrecv(got, 1, vector, &message, &status);
    MPI_Error_class(result, &error);
    if (error != MPI_ERR_TRUNCATE || got[1] != GAP || got[3] != GAP || got[5] != GAP || got[6] != GAP
        || got[7] != GAP)
        PROOF_FAIL("too long: error %d", error);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void from_nobody(void) {
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    double got[8];
    int count;
    for (int later = 0; later < 2; later++) {
        MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
        if (later) {
            MPI_Imrecv(got, 1, vector, &message, &request);
            MPI_Wait(&request, &status);
        } else {
            MPI_Mrecv(got, 1, vector, &message, &status);
        }
        MPI_Get_count(&status, vector, &count);
        if (status.MPI_SOURCE != MPI_PROC_NULL || count != 0 || message != MPI_MESSAGE_NULL)
            PROOF_FAIL("from nobody: rank %d, %d elements", status.MPI_SOURCE, count);
    }
}

int main(int argc, char **argv) {
    proof_begin(&argc, &argv);
    if (proof_ranks != 2)
        PROOF_FAIL("mrecv is for two ranks");
    other = 1 - proof_rank;
    make_types();
    MPI_Datatype types[TYPES] = {vector, backwards, mixed, resized, plain};
    static const char *const names[TYPES] = {"vector", "backwards", "mixed", "resized", "plain"};
    static const int lengths[][2] = {{SHORT, SHORT}, {SHORT, 3}, {SHORT, 0}, {LONG, LONG}, {LONG, LONG - 5}};
    int tag = 0;
    for (int type = 0; type < TYPES; type++)
        for (unsigned length = 0; length < sizeof lengths / sizeof *lengths; length++)
            for (int later = 0; later < 3; later++, tag++) {
                int size;
                char what[80];
                MPI_Type_size(types[type], &size);
                snprintf(what, sizeof what, "%s, %d of %d, %s", names[type], lengths[length][1],
                         lengths[length][0], later == 0   ? "MPI_Mrecv"
                         : later == 1 ? "MPI_Imrecv"
                                      : "MPI_Imrecv and MPI_Test");
                if (proof_rank == 0)
                    send(lengths[length][1] * size, tag, tag % 4 == 0);
                else
                    receive(types[type], lengths[length][0], lengths[length][1], tag, later, what);
            }
    part_of_an_element(0);
    part_of_an_element(1);
    too_long();
    from_nobody();
    proof_end("mrecv");
    return 0;
}
