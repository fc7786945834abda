/*
 * A SPANK plug-in (spank(8)) that gives the tasks of every step the variables by which their MPI uses Tasuki:
 * what `tasuki slurm task-prolog` prints, asked for once per node and step. Slurm takes only plug-ins that
 * were built for its own version; docs/guide/slurm.md says how to build and name this one. Its words in
 * plugstack.conf:
 *   cluster=FILE   the cluster file (needed)
 *   mpi=MPI        the MPI of steps that say nothing; none: these get no variables
 *   tasuki=PROGRAM the command, /usr/bin/tasuki if not given
 * Users choose by `srun --tasuki=MPI`, or `--tasuki=off`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

SPANK_PLUGIN(tasuki, 1);

/* How long the command may take, ms: it reads two files. The tasks of the step do not begin then. */
#define LIMIT_MS 20000
/* Most bytes of what the command prints. */
#define TEXT_MAX 65536

static int take_choice(int value, const char *word, int remote);

/* Whether the variables of the step could not be had, so that its tasks must not run. */
static int has_failed;

static struct spank_option choice = {
    "tasuki", "MPI", "The MPI whose messages Tasuki carries (openmpi-4.1, mpich-5.0, a prefix), or off", 1, 0,
    take_choice};

/* What the user chose for this step; empty: nothing. Slurm calls this before any other function here. */
static char chosen[256];

static int take_choice(int value, const char *word, int remote) {
    (void)value, (void)remote;
    if (!word || strlen(word) >= sizeof chosen)
        return -1;
    strcpy(chosen, word);
    return 0;
}

int slurm_spank_init(spank_t spank, int count, char **words) {
    (void)count, (void)words;
    return spank_option_register(spank, &choice) == ESPANK_SUCCESS ? 0 : -1;
}

/* The value of a word NAME=VALUE of plugstack.conf. */
static const char *word(int count, char **words, const char *name, const char *otherwise) {
    size_t length = strlen(name);
    for (int at = 0; at < count; at++)
        if (strncmp(words[at], name, length) == 0 && words[at][length] == '=')
            return words[at] + length + 1;
    return otherwise;
}

static long now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Runs the command in the child: as the user for good, since Slurm has lowered its rights only for now. */
static void run(int out, char **argv, char **environment) {
    uid_t user = geteuid();
    gid_t group = getegid();
    if (setresgid(group, group, group) || setresuid(user, user, user) || (user && setresuid(0, 0, 0) == 0))
        _exit(126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(out, 1);
    execve(argv[0], argv, environment);
    _exit(127);
}

/* Reads from a pipe to its end. Returns the length of what came, or -1 at the time `end` or of too much. */
static long read_all(int in, char *text, long end) {
    long length = 0;
    for (;;) {
        long left = end - now_ms();
        struct pollfd waited = {in, POLLIN, 0};
        int ready = left > 0 ? poll(&waited, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t got = ready > 0 ? read(in, text + length, TEXT_MAX - length) : -1;
        if (got <= 0)
            return got == 0 ? length : -1;
        length += got;
        if (length == TEXT_MAX)
            return -1;
    }
}

/* Waits for a child until the time `end`, and kills it then. Returns whether it ended with exit code 0. */
static int ended_well(pid_t child, long end) {
    int status = -1;
    struct timespec pause = {0, 1000000};
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (ended < 0 && errno != EINTR)
            return 0;
        if (now_ms() >= end)
            kill(child, SIGKILL);
        nanosleep(&pause, NULL);
    }
}

/* What the command prints, for free(); NULL: it failed. */
static char *ask(char **argv, char **environment) {
    int pipes[2];
    char *text = calloc(1, TEXT_MAX + 1);
    if (!text || pipe(pipes)) {
        free(text);
        return NULL;
    }
    long end = now_ms() + LIMIT_MS;
    pid_t child = fork();
    if (child == 0)
        run(pipes[1], argv, environment);
    close(pipes[1]);
    long length = child > 0 ? read_all(pipes[0], text, end) : -1;
    close(pipes[0]);
    if (child > 0 && ended_well(child, length < 0 ? 0 : end) && length >= 0)
        return text;
    free(text);
    return NULL;
}

/* Puts the variables of lines "export NAME=VALUE" into the environment of the step's tasks. */
static int set_all(spank_t spank, char *text) {
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *name = strncmp(line, "export ", 7) == 0 ? line + 7 : NULL;
        char *value = name ? strchr(name, '=') : NULL;
        if (!value)
            continue;
        *value = 0;
        if (spank_setenv(spank, name, value + 1, 1) != ESPANK_SUCCESS)
            return -1;
    }
    return 0;
}

/* Gives the tasks of a step on this node their variables, with the rights of its user; 0, or -1. */
static int prepare(spank_t spank, int count, char **words) {
    const char *mpi = chosen[0] ? chosen : word(count, words, "mpi", "off");
    if (!spank_remote(spank) || strcmp(mpi, "off") == 0)
        return 0;
    const char *cluster = word(count, words, "cluster", NULL);
    const char *program = word(count, words, "tasuki", "/usr/bin/tasuki");
    char **environment = NULL;
    if (!cluster || spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS) {
        slurm_error("tasuki: plugstack.conf names no cluster=FILE for this plug-in");
        return -1;
    }
    char *argv[] = {(char *)program, "slurm",         "task-prolog",   "--mpi", (char *)mpi,
                    "--cluster",     (char *)cluster, NULL};
    char *text = ask(argv, environment);
    if (!text) {
        slurm_error("tasuki: %s slurm task-prolog --mpi %s failed; its words are above", program, mpi);
        return -1;
    }
    int result = set_all(spank, text);
    free(text);
    return result;
}

/* Slurm calls this on each node, once for each step. A failure here would have srun end with exit code 0
   (Slurm 22.05), so that tasks have to say it. */
int slurm_spank_user_init(spank_t spank, int count, char **words) {
    has_failed = prepare(spank, count, words) != 0;
    return 0;
}

/* Slurm calls this in the process of each task, before its program. */
int slurm_spank_task_init(spank_t spank, int count, char **words) {
    (void)spank, (void)count, (void)words;
    return has_failed ? -1 : 0;
}
