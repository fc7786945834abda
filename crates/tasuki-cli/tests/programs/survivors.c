/* survivors OPERATION fatal|return VICTIM|nobody rank|host before|amid COUNT: what the others are told
 * when a rank dies.
 *
 * All ranks do OPERATION again and again, on COUNT doubles, and check every result. VICTIM, or with `host`
 * every process of its host, is killed (SIGKILL): in `before` ahead of round KILL, in `amid` by a thread
 * at some moment from that round on. An operation may fail, or end the process (`fatal`, MPI's default),
 * or give what is right; nothing else. Whoever is told of success and holds something else, or cannot have
 * succeeded without the dead, prints a line that begins with `WRONG` and ends with status 9. With `return`
 * (MPI_ERRORS_RETURN) a rank goes on after an error, PERSISTENT times, so that what follows an error is
 * checked, too. Survivors print `rank R: N errors, first in round M` and leave without MPI_Finalize. */
#include "proof.h"

#include <pthread.h>
#include <stdarg.h>
#include <signal.h>
#include <unistd.h>

enum { KILL = 12, ROUNDS = 40, PERSISTENT = 6 };

static int victim, whole_host, amid, count, round_number, errors, first_error = -1;
static int *host_of; /* Of every rank: the first rank on its host. */
static double *mine, *got, *wide;
static MPI_Win window = MPI_WIN_NULL;
static double *shown;

/* What rank contributes in a round; sums of these are exact. */
static double value(int rank, int round, int index) {
    return (double)((rank + 1) * 1000003L % 65521) + 7.0 * round + index % 257;
}

static double sum(int round, int index) {
    double total = 0;
    for (int rank = 0; rank < proof_ranks; rank++)
        total += value(rank, round, index);
    return total;
}

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...) {
    va_list arguments;
    char text[300];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("WRONG: rank %d, round %d: %s\n", proof_rank, round_number, text);
    fflush(stdout);
    _exit(9);
}

static void poison(double *memory, int words) {
    for (int i = 0; i < words; i++)
        memory[i] = -1e300;
}

static void fill(double *memory, int rank) {
    for (int i = 0; i < count; i++)
        memory[i] = value(rank, round_number, i);
}

static void check(const double *memory, int rank, const char *what) {
    for (int i = 0; i < count; i++)
        if (memory[i] != value(rank, round_number, i))
            wrong("%s: success, and word %d of rank %d is %g, not %g", what, i, rank, memory[i],
                  value(rank, round_number, i));
}

static void check_sum(const double *memory, const char *what) {
    for (int i = 0; i < count; i++)
        if (memory[i] != sum(round_number, i))
            wrong("%s: success, and word %d is %g, not %g", what, i, memory[i], sum(round_number, i));
}

/* Whether this rank is dead, or as good as dead, when the present round begins. */
static int is_dead(int rank) {
    if (victim < 0 || amid || round_number < KILL)
        return 0;
    return whole_host ? host_of[rank] == host_of[victim] : rank == victim;
}

static void needs_all(const char *what) {
    for (int rank = 0; rank < proof_ranks; rank++)
        if (is_dead(rank))
            wrong("%s: success without rank %d, which was dead before", what, rank);
}

static int allreduce(void) {
    fill(mine, proof_rank);
    poison(got, count);
    int result = MPI_Allreduce(mine, got, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (result == MPI_SUCCESS)
        check_sum(got, "allreduce");
    return result;
}

static int iallreduce(void) {
    MPI_Request request;
    fill(mine, proof_rank);
    poison(got, count);
    int result = MPI_Iallreduce(mine, got, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    if (result == MPI_SUCCESS)
        result = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS)
        check_sum(got, "iallreduce");
    return result;
}

static int reduce(void) {
    int root = round_number % proof_ranks;
    fill(mine, proof_rank);
    poison(got, count);
    int result = MPI_Reduce(mine, got, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    if (result == MPI_SUCCESS && root == proof_rank)
        check_sum(got, "reduce");
    return result;
}

static int bcast(void) {
    int root = round_number % proof_ranks;
    if (root == proof_rank)
        fill(got, root);
    else
        poison(got, count);
    int result = MPI_Bcast(got, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    if (result == MPI_SUCCESS)
        check(got, root, "bcast");
    return result;
}

static int ibcast(void) {
    MPI_Request request;
    int root = round_number % proof_ranks;
    if (root == proof_rank)
        fill(got, root);
    else
        poison(got, count);
    int result = MPI_Ibcast(got, count, MPI_DOUBLE, root, MPI_COMM_WORLD, &request);
    if (result == MPI_SUCCESS)
        result = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS)
        check(got, root, "ibcast");
    return result;
}

static int barrier(void) {
    int result = MPI_Barrier(MPI_COMM_WORLD);
    if (result == MPI_SUCCESS)
        needs_all("barrier");
    return result;
}

static int alltoall(void) {
    for (int rank = 0; rank < proof_ranks; rank++)
        for (int i = 0; i < count; i++)
            wide[rank * count + i] = value(proof_rank, round_number, i) + rank;
    double *all = wide + proof_ranks * count;
    poison(all, proof_ranks * count);
    int result = MPI_Alltoall(wide, count, MPI_DOUBLE, all, count, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int rank = 0; rank < proof_ranks && result == MPI_SUCCESS; rank++)
        for (int i = 0; i < count; i++)
            if (all[rank * count + i] != value(rank, round_number, i) + proof_rank)
                wrong("alltoall: success, and word %d of rank %d is %g", i, rank, all[rank * count + i]);
    return result;
}

static int check_all(int result, const char *what) {
    for (int rank = 0; rank < proof_ranks && result == MPI_SUCCESS; rank++)
        check(wide + rank * count, rank, what);
    return result;
}

static int allgather(void) {
    fill(mine, proof_rank);
    poison(wide, proof_ranks * count);
    return check_all(MPI_Allgather(mine, count, MPI_DOUBLE, wide, count, MPI_DOUBLE, MPI_COMM_WORLD),
                     "allgather");
}

static int gather(void) {
    int root = round_number % proof_ranks;
    fill(mine, proof_rank);
    poison(wide, proof_ranks * count);
    int result = MPI_Gather(mine, count, MPI_DOUBLE, wide, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    return root == proof_rank ? check_all(result, "gather") : result;
}

static int scatter(void) {
    int root = round_number % proof_ranks;
    for (int rank = 0; rank < proof_ranks; rank++)
        for (int i = 0; i < count; i++)
            wide[rank * count + i] = value(root, round_number, i) + rank;
    poison(got, count);
    int result = MPI_Scatter(wide, count, MPI_DOUBLE, got, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    for (int i = 0; i < count && result == MPI_SUCCESS; i++)
        if (got[i] != value(root, round_number, i) + proof_rank)
            wrong("scatter: success, and word %d is %g", i, got[i]);
    return result;
}

static int reduce_scatter(void) {
    for (int rank = 0; rank < proof_ranks; rank++)
        fill(wide + rank * count, proof_rank);
    poison(got, count);
    int result = MPI_Reduce_scatter_block(wide, got, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (result == MPI_SUCCESS)
        check_sum(got, "reduce_scatter");
    return result;
}

static int scan(void) {
    fill(mine, proof_rank);
    poison(got, count);
    int result = MPI_Scan(mine, got, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count && result == MPI_SUCCESS; i++) {
        double right = 0;
        for (int rank = 0; rank <= proof_rank; rank++)
            right += value(rank, round_number, i);
        if (got[i] != right)
            wrong("scan: success, and word %d is %g, not %g", i, got[i], right);
    }
    return result;
}

/* Messages around the ring. A send may well succeed: the message was taken, and nobody promises more. */
static int sendrecv(void) {
    int next = (proof_rank + 1) % proof_ranks, before = (proof_rank + proof_ranks - 1) % proof_ranks;
    MPI_Status status;
    int words = -1;
    fill(mine, proof_rank);
    poison(got, count);
    int result = MPI_Sendrecv(mine, count, MPI_DOUBLE, next, 5, got, count, MPI_DOUBLE, before, 5,
                              MPI_COMM_WORLD, &status);
    if (result != MPI_SUCCESS)
        return result;
    MPI_Get_count(&status, MPI_DOUBLE, &words);
    if (words != count || status.MPI_SOURCE != before)
        wrong("sendrecv: success with %d words of rank %d, not %d of %d", words, status.MPI_SOURCE, count,
              before);
    check(got, before, "sendrecv");
    return result;
}

/* Everybody to everybody at once, received in whatever order it comes. */
static int waitall(void) {
    MPI_Request requests[2 * proof_ranks];
    MPI_Status statuses[2 * proof_ranks];
    fill(mine, proof_rank);
    poison(wide, proof_ranks * count);
    for (int rank = 0; rank < proof_ranks; rank++) {
        requests[rank] = requests[proof_ranks + rank] = MPI_REQUEST_NULL;
        int result = MPI_Irecv(wide + rank * count, count, MPI_DOUBLE, rank, 6, MPI_COMM_WORLD,
                               &requests[rank]);
        if (result == MPI_SUCCESS)
            result = MPI_Isend(mine, count, MPI_DOUBLE, rank, 6, MPI_COMM_WORLD,
                               &requests[proof_ranks + rank]);
        /* What has been begun stays so: the process is about to end. */
        if (result != MPI_SUCCESS)
            return result;
    }
    int result = MPI_Waitall(2 * proof_ranks, requests, statuses);
    for (int rank = 0; rank < proof_ranks; rank++)
        if (result == MPI_SUCCESS || (result == MPI_ERR_IN_STATUS && statuses[rank].MPI_ERROR == MPI_SUCCESS))
            check(wide + rank * count, rank, "waitall");
    return result;
}

static int ssend(void) {
    int next = (proof_rank + 1) % proof_ranks, before = (proof_rank + proof_ranks - 1) % proof_ranks;
    MPI_Request request;
    fill(mine, proof_rank);
    poison(got, count);
    int result = MPI_Irecv(got, count, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, &request);
    if (result == MPI_SUCCESS)
        result = MPI_Ssend(mine, count, MPI_DOUBLE, next, 7, MPI_COMM_WORLD);
    if (result == MPI_SUCCESS && is_dead(next))
        wrong("ssend: success, but rank %d was dead before", next);
    if (result == MPI_SUCCESS)
        result = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS)
        check(got, before, "ssend");
    return result;
}

static int comm_dup(void) {
    MPI_Comm copy;
    int result = MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (result == MPI_SUCCESS) {
        needs_all("comm_dup");
        result = MPI_Comm_free(&copy);
    }
    return result;
}

/* A window of a place for every rank. */
static void open_window(void) {
    MPI_Win_allocate((MPI_Aint)sizeof(double) * count * proof_ranks, sizeof(double), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &shown, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
}

static int put_fence(void) {
    fill(mine, proof_rank);
    int result = MPI_Win_fence(0, window);
    if (result == MPI_SUCCESS)
        needs_all("first fence");
    for (int rank = 0; rank < proof_ranks && result == MPI_SUCCESS; rank++)
        result = MPI_Put(mine, count, MPI_DOUBLE, rank, (MPI_Aint)proof_rank * count, count, MPI_DOUBLE,
                         window);
    if (result == MPI_SUCCESS)
        result = MPI_Win_fence(0, window);
    for (int rank = 0; rank < proof_ranks && result == MPI_SUCCESS; rank++)
        check(shown + rank * count, rank, "put and fence");
    if (result == MPI_SUCCESS)
        needs_all("fence");
    return result;
}

static int acc_fence(void) {
    for (int i = 0; i < count; i++)
        shown[i] = 0;
    fill(mine, proof_rank);
    int result = MPI_Win_fence(0, window);
    for (int rank = 0; rank < proof_ranks && result == MPI_SUCCESS; rank++)
        result = MPI_Accumulate(mine, count, MPI_DOUBLE, rank, 0, count, MPI_DOUBLE, MPI_SUM, window);
    if (result == MPI_SUCCESS)
        result = MPI_Win_fence(0, window);
    if (result == MPI_SUCCESS)
        check_sum(shown, "accumulate and fence");
    if (result == MPI_SUCCESS)
        needs_all("fence");
    return result;
}

/* A window can outlive its owner: MPIs let the ranks of a host share its memory, and any of them serves
 * it. What is put must be there. */
static int put_flush(void) {
    int target = (proof_rank + 1) % proof_ranks;
    fill(mine, proof_rank);
    poison(got, count);
    MPI_Aint place = (MPI_Aint)proof_rank * count;
    int result = MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
    if (result == MPI_SUCCESS)
        result = MPI_Put(mine, count, MPI_DOUBLE, target, place, count, MPI_DOUBLE, window);
    if (result == MPI_SUCCESS)
        result = MPI_Win_flush(target, window);
    if (result == MPI_SUCCESS)
        result = MPI_Get(got, count, MPI_DOUBLE, target, place, count, MPI_DOUBLE, window);
    if (result == MPI_SUCCESS)
        result = MPI_Win_unlock(target, window);
    if (result == MPI_SUCCESS)
        check(got, proof_rank, "put, flush and get");
    return result;
}

static int acc_flush(void) {
    int target = (proof_rank + 1) % proof_ranks;
    double one = 1, before = -1;
    int result = MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
    if (result == MPI_SUCCESS)
        result = MPI_Fetch_and_op(&one, &before, MPI_DOUBLE, target, proof_rank, MPI_SUM, window);
    if (result == MPI_SUCCESS)
        result = MPI_Win_unlock(target, window);
    /* Nobody else adds there. */
    if (result == MPI_SUCCESS && before != round_number)
        wrong("fetch and op: success, and %g, not %d", before, round_number);
    return result;
}

static const struct {
    const char *name;
    int (*run)(void);
    int one_sided;
} OPERATIONS[] = {
    {"allreduce", allreduce, 0}, {"iallreduce", iallreduce, 0},         {"reduce", reduce, 0},
    {"bcast", bcast, 0},         {"ibcast", ibcast, 0},                 {"barrier", barrier, 0},
    {"alltoall", alltoall, 0},   {"allgather", allgather, 0},           {"gather", gather, 0},
    {"scatter", scatter, 0},     {"reduce_scatter", reduce_scatter, 0}, {"scan", scan, 0},
    {"sendrecv", sendrecv, 0},   {"waitall", waitall, 0},               {"ssend", ssend, 0},
    {"comm_dup", comm_dup, 0},   {"put_fence", put_fence, 1},           {"acc_fence", acc_fence, 1},
    {"put_flush", put_flush, 1}, {"acc_flush", acc_flush, 1},
};

static void die(void) {
    /* A host is the processes of a namespace of its own; its first one is spared by the kernel. */
    if (whole_host)
        kill(-1, SIGKILL);
    raise(SIGKILL);
}

static void *die_later(void *unused) {
    (void)unused;
    usleep((useconds_t)(proof_now() * 1e9) % 3000);
    die();
    return NULL;
}

static void learn_hosts(void) {
    char name[MPI_MAX_PROCESSOR_NAME] = "", *names = proof_memory((size_t)proof_ranks * sizeof name);
    int length;
    MPI_Get_processor_name(name, &length);
    MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
    host_of = proof_memory((size_t)proof_ranks * sizeof *host_of);
    for (int rank = 0; rank < proof_ranks; rank++)
        for (host_of[rank] = 0; strcmp(names + host_of[rank] * sizeof name, names + rank * sizeof name);)
            host_of[rank]++;
    free(names);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &proof_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &proof_ranks);
    if (argc != 7)
        PROOF_FAIL("survivors OPERATION fatal|return VICTIM|nobody rank|host before|amid COUNT");
    unsigned operation = 0;
    while (operation < sizeof OPERATIONS / sizeof *OPERATIONS && strcmp(argv[1], OPERATIONS[operation].name))
        operation++;
    if (operation == sizeof OPERATIONS / sizeof *OPERATIONS)
        PROOF_FAIL("no operation %s", argv[1]);
    int returns = !strcmp(argv[2], "return");
    victim = strcmp(argv[3], "nobody") ? atoi(argv[3]) : -1;
    whole_host = !strcmp(argv[4], "host");
    amid = !strcmp(argv[5], "amid");
    count = atoi(argv[6]);
    mine = proof_memory((size_t)count * sizeof *mine);
    got = proof_memory((size_t)count * sizeof *got);
    wide = proof_memory(2 * (size_t)count * (size_t)proof_ranks * sizeof *wide);
    learn_hosts();
    if (OPERATIONS[operation].one_sided) {
        open_window();
        for (int i = 0; i < count * proof_ranks; i++)
            shown[i] = 0;
        if (!returns)
            MPI_Win_set_errhandler(window, MPI_ERRORS_ARE_FATAL);
    }
    if (returns)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    int doomed = victim >= 0 && (whole_host ? host_of[proof_rank] == host_of[victim] : proof_rank == victim);
    for (round_number = 0; round_number < ROUNDS && errors < PERSISTENT; round_number++) {
        pthread_t thread;
        if (round_number == KILL)
            MPI_Barrier(MPI_COMM_WORLD);
        if (doomed && round_number == KILL && amid)
            pthread_create(&thread, NULL, die_later, NULL);
        else if (doomed && round_number == KILL)
            die();
        /* Put and get need nothing of their target's program: it must be dead for sure when they begin. */
        if (victim >= 0 && !amid && round_number == KILL && OPERATIONS[operation].one_sided)
            usleep(50000);
        if (OPERATIONS[operation].run() != MPI_SUCCESS) {
            errors++;
            if (first_error < 0)
                first_error = round_number;
        }
    }
    printf("rank %d: %d errors, first in round %d\n", proof_rank, errors, first_error);
    fflush(stdout);
    if (victim >= 0 || errors)
        _exit(errors && victim < 0 ? 8 : 0);
    if (window != MPI_WIN_NULL)
        MPI_Win_free(&window);
    proof_end("survivors");
    return 0;
}
