/* IS: ranks of integer keys (RNR-94-007, section 2.3.2). Keys go to the rank that owns their range of values;
 * ranges are cut so that every rank gets about the same number. A key's rank is then a prefix sum of
 * counts. */
#include "common/nas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, TESTS = 5, BUCKETS_LOG2 = 10, BUCKETS = 1 << BUCKETS_LOG2, MOST_RANKS = 64 };

/* Where keys are looked at after each iteration, and what their rank must be: `rank` + `sign` * (iteration +
 * `shift`), iterations counted from 1. Tables of partial verification values, RNR-94-007 (class A; S is
 * its sample code's) and NPB 2.2 (W, B). */
static const struct problem {
    char class;
    int keys_log2, maximum_log2;
    int index[TESTS], rank[TESTS], sign[TESTS], shift[TESTS];
} problems[] = {
    {'S', 16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, {1, 1, 1, -1, -1},
     {0, 0, 0, 0, 0}},
    {'W', 20, 16, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018},
     {1, 1, -1, -1, -1}, {-2, -2, 0, 0, 0}},
    {'A', 23, 19, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264},
     {1, 1, 1, -1, -1}, {-1, -1, -1, -1, -1}},
    {'B', 25, 21, {41869, 812306, 5102857, 18232239, 26860214}, {33422937, 10244, 59149, 33135281, 99},
     {-1, 1, 1, -1, 1}, {0, 0, 0, 0, 0}},
};

struct state {
    const struct nas_run *run;
    const struct problem *problem;
    int mine;                   /* keys that this rank holds at the beginning */
    int shift;                  /* key >> shift is its bucket */
    int32_t *keys, *packed, *got;
    int room;                   /* of `got` */
    int received;
    int local[BUCKETS + TESTS], total[BUCKETS + TESTS];   /* keys in each bucket, then the tested keys */
    int *out, *out_at, *in, *in_at;                     /* per rank: keys and where they begin */
    uint8_t owner[BUCKETS];     /* of each bucket: a rank */
    int first_bucket, buckets;  /* that this rank owns */
    int64_t before;             /* keys in the buckets of lower ranks */
    int32_t *count;             /* of each key value in this rank's range; then inclusive prefix sums */
    bool sound;
};

static void generate(struct state *s)
{
    uint64_t first = (uint64_t)s->mine * (uint64_t)s->run->rank;
    uint64_t x = nas_step(314159265, nas_power(NAS_MULTIPLIER, 4 * first));
    double quarter = (double)(1 << s->problem->maximum_log2) / 4;
    for (int i = 0; i < s->mine; i++) {
        double sum = 0;
        for (int n = 0; n < 4; n++) {
            x = nas_step(x, NAS_MULTIPLIER);
            sum += nas_uniform(x);
        }
        s->keys[i] = (int32_t)(quarter * sum);
    }
}

/* The two keys that each iteration changes, so that no iteration can reuse the last one's result. */
static void change(struct state *s, int iteration)
{
    int at[2] = {iteration, iteration + ITERATIONS};
    int value[2] = {iteration, (1 << s->problem->maximum_log2) - iteration};
    for (int i = 0; i < 2; i++)
        if (at[i] / s->mine == s->run->rank) s->keys[at[i] % s->mine] = value[i];
}

/* Totals that cannot be have been damaged on the way: then nothing is verified, but the run goes on. */
static void check_totals(struct state *s)
{
    int64_t all = INT64_C(1) << s->problem->keys_log2, sum = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        if (s->total[bucket] < 0 || s->total[bucket] > all) s->total[bucket] = 0;
        sum += s->total[bucket];
    }
    if (sum != all) s->sound = false;
}

/* Two tables, as neighbouring keys often share a bucket and would wait for each other. */
static void count_own(struct state *s)
{
    int other[BUCKETS] = {0};
    for (int i = 0; i + 1 < s->mine; i += 2) {
        s->local[s->keys[i] >> s->shift]++;
        other[s->keys[i + 1] >> s->shift]++;
    }
    for (int bucket = 0; bucket < BUCKETS; bucket++) s->local[bucket] += other[bucket];
    if (s->mine % 2) s->local[s->keys[s->mine - 1] >> s->shift]++;
}

static void count_buckets(struct state *s)
{
    memset(s->local, 0, sizeof s->local);
    /* One rank owns all buckets: only their sum matters. */
    if (s->run->ranks == 1) s->local[0] = s->mine;
    else count_own(s);
    for (int t = 0; t < TESTS; t++) {
        int at = s->problem->index[t];
        if (at / s->mine == s->run->rank) s->local[BUCKETS + t] = s->keys[at % s->mine];
    }
    MPI_Allreduce(s->local, s->total, BUCKETS + TESTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_totals(s);
}

/* Cuts the buckets into one range per rank, each reaching its share of all keys; how many keys go to whom. */
static void share_out(struct state *s)
{
    int ranks = s->run->ranks, bucket = 0;
    int64_t all = INT64_C(1) << s->problem->keys_log2, so_far = 0;
    for (int rank = 0; rank < ranks; rank++) {
        int first = bucket, keys = 0;
        int64_t before = so_far, share = all * (rank + 1) / ranks;
        while (bucket < BUCKETS && (rank == ranks - 1 || so_far < share)) {
            s->owner[bucket] = (uint8_t)rank;
            keys += s->local[bucket];
            so_far += s->total[bucket++];
        }
        s->out[rank] = keys;
        if (rank != s->run->rank) continue;
        s->first_bucket = first;
        s->buckets = bucket - first;
        s->before = before;
        s->received = (int)(so_far - before);
    }
    for (int rank = 0, at = 0; rank < ranks; at += s->out[rank++]) s->out_at[rank] = at;
}

/* A damaged count must neither crash this rank nor stop the others: one that cannot be is put right from the
 * sum that is expected. The sum of all is what will come. */
static void check_counts(struct state *s)
{
    int bad = -1;
    int64_t sum = 0, missing;
    for (int rank = 0; rank < s->run->ranks; rank++) {
        if (s->in[rank] < 0 || s->in[rank] > s->mine) bad = rank;
        else sum += s->in[rank];
    }
    missing = s->received - sum;
    if (bad >= 0 && missing >= 0 && missing <= s->mine) sum += s->in[bad] = (int)missing;
    else if (bad >= 0) s->in[bad] = 0;
    if (bad >= 0 || missing) s->sound = false;
    s->received = (int)sum;
}

/* Keys into one piece per receiver. Every other key fills its piece from the end, as counting up one place
 * for all would make each key wait for the one before. */
static void pack_keys(struct state *s)
{
    int up[MOST_RANKS], down[MOST_RANKS], i = 0;
    for (int rank = 0; rank < s->run->ranks; rank++) {
        up[rank] = s->out_at[rank];
        down[rank] = s->out_at[rank] + s->out[rank];
    }
    for (; i + 1 < s->mine; i += 2) {
        int32_t first = s->keys[i], second = s->keys[i + 1];
        s->packed[up[s->owner[first >> s->shift]]++] = first;
        s->packed[--down[s->owner[second >> s->shift]]] = second;
    }
    if (i < s->mine) s->packed[up[s->owner[s->keys[i] >> s->shift]]] = s->keys[i];
}

static void send_keys(struct state *s)
{
    pack_keys(s);
    MPI_Alltoall(s->out, 1, MPI_INT, s->in, 1, MPI_INT, MPI_COMM_WORLD);
    check_counts(s);
    for (int rank = 0, so_far = 0; rank < s->run->ranks; so_far += s->in[rank++]) s->in_at[rank] = so_far;
    if (s->received > s->room) {
        free(s->got);
        s->room = s->received + s->received / 8;
        s->got = nas_memory((size_t)s->room, sizeof *s->got);
    }
    MPI_Alltoallv(s->packed, s->out, s->out_at, MPI_INT32_T, s->got, s->in, s->in_at, MPI_INT32_T,
                  MPI_COMM_WORLD);
}

/* Counts of this rank's values and their prefix sums: count[v] keys are at most lowest + v. */
static void rank_keys(struct state *s, const int32_t *keys)
{
    int32_t lowest = (int32_t)s->first_bucket << s->shift;
    uint32_t values = (uint32_t)s->buckets << s->shift;
    memset(s->count, 0, values * sizeof *s->count);
    uint32_t strangers = 0;
    for (int i = 0; i < s->received; i++) {
        uint32_t value = (uint32_t)(keys[i] - lowest);
        if (__builtin_expect(value < values, 1)) s->count[value]++;
        else strangers++;
    }
    if (strangers) s->sound = false;
    int32_t sum = 0;
    for (uint32_t value = 0; value < values; value++) s->count[value] = sum += s->count[value];
}

static bool test_ranks(const struct state *s, int iteration)
{
    bool right = true;
    int32_t lowest = (int32_t)s->first_bucket << s->shift, above = lowest + (int32_t)(s->buckets << s->shift);
    for (int t = 0; t < TESTS; t++) {
        int32_t key = s->total[BUCKETS + t];
        if (key < lowest || key >= above) continue;
        int64_t rank = s->before + (key == lowest ? 0 : s->count[key - lowest - 1]);
        int64_t expected = s->problem->rank[t] + s->problem->sign[t] * (iteration + s->problem->shift[t]);
        right &= rank == expected;
    }
    return right;
}

/* A tested key that belongs to nobody's range has been damaged. */
static bool tests_in_range(const struct state *s)
{
    for (int t = 0; t < TESTS; t++)
        if (s->total[BUCKETS + t] < 0 || s->total[BUCKETS + t] >> s->problem->maximum_log2) return false;
    return true;
}

static bool iterate(struct state *s, int iteration)
{
    change(s, iteration);
    count_buckets(s);
    const int32_t *keys = s->keys;
    if (s->run->ranks > 1) {
        share_out(s);
        send_keys(s);
        keys = s->got;
    } else {
        s->buckets = BUCKETS;
        s->received = s->mine;
    }
    rank_keys(s, keys);
    return tests_in_range(s) && test_ranks(s, iteration);
}

/* Puts every key at its rank; true if they are then in order, here and towards the neighbours, and none is
 * missing. The first and last key of every rank tell about the neighbours. */
static bool full_verification(struct state *s)
{
    int ranks = s->run->ranks;
    const int32_t *keys = ranks > 1 ? s->got : s->keys;
    int32_t lowest = (int32_t)s->first_bucket << s->shift;
    int32_t *sorted = nas_memory((size_t)s->received, sizeof *sorted);
    for (int i = 0; i < s->received; i++) {
        int32_t place = --s->count[keys[i] - lowest];
        sorted[place] = keys[i];
    }
    bool right = true;
    for (int i = 1; i < s->received; i++) right &= sorted[i - 1] <= sorted[i];
    int ends[3] = {s->received ? sorted[0] : -1, s->received ? sorted[s->received - 1] : -1, s->received};
    int *all = nas_memory((size_t)ranks * 3, sizeof *all);
    MPI_Allgather(ends, 3, MPI_INT, all, 3, MPI_INT, MPI_COMM_WORLD);
    int64_t keys_in_all = 0;
    int highest = -1;
    for (int rank = 0; rank < ranks; rank++) {
        keys_in_all += all[3 * rank + 2];
        if (!all[3 * rank + 2]) continue;
        right &= highest <= all[3 * rank];
        highest = all[3 * rank + 1];
    }
    free(all);
    free(sorted);
    return right && keys_in_all == INT64_C(1) << s->problem->keys_log2;
}

static void prepare(struct state *s, const struct nas_run *run)
{
    s->run = run;
    s->problem = problems;
    while (s->problem->class != run->class) s->problem++;
    s->mine = (1 << s->problem->keys_log2) / run->ranks;
    s->shift = s->problem->maximum_log2 - BUCKETS_LOG2;
    s->keys = nas_memory((size_t)s->mine, sizeof *s->keys);
    if (run->ranks > 1) s->packed = nas_memory((size_t)s->mine, sizeof *s->packed);
    s->count = nas_memory((size_t)1 << s->problem->maximum_log2, sizeof *s->count);
    int **lists[] = {&s->out, &s->out_at, &s->in, &s->in_at};
    for (int i = 0; i < 4; i++) *lists[i] = nas_memory((size_t)run->ranks, sizeof **lists[i]);
    s->sound = true;
}

static void run_is(const struct nas_run *run, struct nas_result *result)
{
    static struct state s;
    prepare(&s, run);
    generate(&s);
    iterate(&s, 1); /* touches all memory */
    generate(&s);
    bool right = true;
    nas_start();
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) right &= iterate(&s, iteration);
    result->seconds = nas_stop();
    right = nas_everywhere(right && s.sound);
    nas_say(" partial verification in %d iterations: %s\n", ITERATIONS,
            right ? "all ranks right" : "FAILURE");
    bool sorted = right && full_verification(&s);
    sorted = nas_everywhere(sorted);
    nas_say(" full verification: %s\n", sorted ? "sorted" : "FAILURE");

    snprintf(result->size, sizeof result->size, "%d", 1 << s.problem->keys_log2);
    result->iterations = ITERATIONS;
    result->operations = 1e-6 * ITERATIONS * (double)(1 << s.problem->keys_log2);
    result->verified = right && sorted;
}

const struct nas_kernel nas_kernel = {"IS", "keys ranked", "SWAB", MOST_RANKS, run_is};
