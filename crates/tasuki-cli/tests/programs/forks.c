/* forks [ROUNDS]: ranks run other programs, and copies of themselves, while messages of every size are
 * under way: system(), popen(), fork + exec, fork + _exit, and a child that lives on holding everything
 * that it inherited. */
#include "proof.h"

#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 2 << 20, SMALL = 1000 };

static void reap(pid_t child, int code, const char *what) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != code)
        PROOF_FAIL("forks: %s ended with status %#x instead of code %d", what, (unsigned)status, code);
}

static void run_others(char *memory) {
    char word[16] = "";
    if (system("exit 0") != 0)
        PROOF_FAIL("forks: system() failed");
    FILE *stream = popen("echo words", "r");
    if (!stream || !fgets(word, sizeof word, stream) || strcmp(word, "words\n") || pclose(stream) != 0)
        PROOF_FAIL("forks: popen() gave %s", word);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(127);
    }
    reap(child, 7, "fork + exec");
    /* A child that writes to memory that is being sent: its copy alone changes. */
    child = fork();
    if (child == 0) {
        memset(memory, 0, BYTES);
        _exit(5);
    }
    reap(child, 5, "fork + _exit");
}

static void exchange(uint64_t round, char *out, char *in) {
    int next = (proof_rank + 1) % proof_ranks, before = (proof_rank + proof_ranks - 1) % proof_ranks;
    char small_out[SMALL], small_in[SMALL];
    MPI_Request requests[4];
    proof_fill(out, BYTES, proof_key(proof_rank, next, round));
    proof_fill(small_out, SMALL, proof_key(proof_rank, next, round + 1000));
    memset(in, 0xee, BYTES);
    MPI_Irecv(in, BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(small_in, SMALL, MPI_BYTE, before, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, BYTES, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(small_out, SMALL, MPI_BYTE, next, 2, MPI_COMM_WORLD, &requests[3]);
    run_others(out);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    proof_check(in, BYTES, proof_key(before, proof_rank, round), "forks");
    proof_check(small_in, SMALL, proof_key(before, proof_rank, round + 1000), "forks");
}

int main(int argc, char **argv) {
    proof_begin(&argc, &argv);
    long rounds = proof_argument(argc, argv, 1, 20);
    char *out = proof_memory(BYTES), *in = proof_memory(BYTES);
    exchange(0, out, in);
    pid_t lasting = fork();
    if (lasting == 0) {
        sleep(2);
        _exit(0);
    }
    for (long round = 1; round < rounds; round++)
        exchange((uint64_t)round, out, in);
    reap(lasting, 0, "the child that lived on");
    exchange((uint64_t)rounds, out, in);
    proof_end("forks");
    return 0;
}
