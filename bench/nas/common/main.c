/* Command line, start and end of every kernel's program, and the result in the form that the NAS Parallel
 * Benchmarks made customary. */
#include "nas.h"
#include "profile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VERSION "tasuki 1"

static int world_rank, world_ranks;
static double started, cpu_started, cpu_seconds; /* CPU: of all ranks, in the timed section */

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double nas_now(void) { return read_clock(CLOCK_MONOTONIC); }

void nas_start(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    cpu_started = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    started = nas_now();
    profile_begin(started);
}

double nas_stop(void)
{
    double stopped = nas_now(), mine = stopped - started, slowest;
    double cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu_started;
    profile_end(stopped);
    MPI_Allreduce(&cpu, &cpu_seconds, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

void *nas_memory(size_t count, size_t each)
{
    size_t bytes = (count * each + 63) / 64 * 64;
    void *memory = each && count > SIZE_MAX / 2 / each ? NULL : aligned_alloc(64, bytes ? bytes : 64);
    if (!memory) {
        fprintf(stderr, "rank %d: no memory for %zu times %zu bytes: take a smaller class or more ranks\n",
                world_rank, count, each);
        MPI_Abort(MPI_COMM_WORLD, NAS_MEMORY);
        exit(NAS_MEMORY);
    }
    return memset(memory, 0, bytes);
}

void nas_say(const char *format, ...)
{
    if (world_rank != 0) return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

bool nas_agrees(const char *what, double value, double reference, double tolerance)
{
    double error = fabs(value - reference) / fabs(reference);
    bool agrees = error <= tolerance; /* false for a NaN */
    nas_say(" %-10s %22.13e %22.13e %10.2e %s\n", what, value, reference, error, agrees ? "" : "FAILURE");
    return agrees;
}

bool nas_everywhere(bool mine)
{
    int here = mine, all = 0;
    MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static void usage(void)
{
    if (world_rank == 0)
        fprintf(stderr,
                "usage: %s --class X [--profile] [--digest] [--trace FILE] [--damage N[:RANK[:BIT]]]\n"
                "  X is one letter of %s; on a power of two of ranks, at most %d\n",
                nas_kernel.name, nas_kernel.classes, nas_kernel.most_ranks);
    MPI_Finalize();
    exit(NAS_USAGE);
}

/* N[:RANK[:BIT]] */
static bool parse_damage(const char *text, struct profile_options *options)
{
    char *end;
    options->damage = strtol(text, &end, 10);
    if (end == text || options->damage < 1) return false;
    if (*end == ':') options->damage_rank = (int)strtol(end + 1, &end, 10);
    if (*end == ':') options->damage_bit = strtol(end + 1, &end, 10);
    return *end == 0 && options->damage_rank >= -1 && options->damage_rank < world_ranks &&
           options->damage_bit >= -1;
}

static void parse(int count, char **words, struct nas_run *run, struct profile_options *options)
{
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : "";
        if (!strcmp(words[i], "--profile")) {
            options->table = true;
        } else if (!strcmp(words[i], "--digest")) {
            options->digest = true;
        } else if (!strcmp(words[i], "--class") && strlen(value) == 1 &&
                   strchr(nas_kernel.classes, value[0])) {
            run->class = words[++i][0];
        } else if (!strcmp(words[i], "--trace") && value[0]) {
            options->trace = words[++i];
        } else if (!strcmp(words[i], "--damage") && parse_damage(value, options)) {
            i++;
        } else {
            usage();
        }
    }
    if (!run->class || run->ranks > nas_kernel.most_ranks || (run->ranks & (run->ranks - 1))) usage();
}

static void report(const struct nas_run *run, const struct nas_result *result)
{
    double rate = result->seconds > 0 ? result->operations / result->seconds : 0;
    nas_say("\n\n %s Benchmark Completed.\n", nas_kernel.name);
    nas_say(" Class           = %24c\n", run->class);
    nas_say(" Size            = %24s\n", result->size);
    nas_say(" Iterations      = %24d\n", result->iterations);
    nas_say(" Time in seconds = %24.6f\n", result->seconds);
    nas_say(" CPU seconds     = %24.6f\n", cpu_seconds);
    nas_say(" Total processes = %24d\n", run->ranks);
    nas_say(" Mop/s total     = %24.2f\n", rate);
    nas_say(" Mop/s/process   = %24.2f\n", rate / run->ranks);
    nas_say(" Operation type  = %24s\n", nas_kernel.operation);
    nas_say(" Verification    = %24s\n", result->verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
    nas_say(" Version         = %24s\n\n", VERSION);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    struct nas_run run = {.rank = world_rank, .ranks = world_ranks};
    struct profile_options options = {.damage_rank = -1, .damage_bit = -1};
    parse(count, words, &run, &options);
    profile_prepare(&options);

    nas_say("\n\n NAS Parallel Benchmarks (%s) -- %s Benchmark\n\n", VERSION, nas_kernel.name);
    struct nas_result result = {0};
    nas_kernel.run(&run, &result);
    result.verified = digest_agrees() && nas_everywhere(result.verified);
    report(&run, &result);
    bool complete = profile_report(nas_kernel.name, run.class, result.seconds);
    MPI_Finalize();
    if (!result.verified) return NAS_UNSUCCESSFUL;
    return complete ? 0 : NAS_USAGE;
}
