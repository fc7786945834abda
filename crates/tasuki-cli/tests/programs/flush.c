/* flush FOLDER: when MPI_Win_flush returns, what was put is in the target's memory (MPI 4.1, 12.5.4), though
 * the target computes and calls no MPI. The origin tells the target by a file that its flush has returned. */
#include "proof.h"

#include <unistd.h>

enum { ROUNDS = 10 };

static void name_of(char *name, size_t size, const char *folder, int round) {
    snprintf(name, size, "%s/flushed-%d", folder, round);
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int rank, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win window;
    volatile long *memory;
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = -1;
    MPI_Win_lock_all(0, window);
    for (long round = 0; round < ROUNDS; round++) {
        char name[4096];
        name_of(name, sizeof name, arguments[1], (int)round);
        if (rank == 0)
            unlink(name);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Put(&round, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
            MPI_Win_flush(1, window);
            FILE *file = fopen(name, "w");
            if (!file || fclose(file) != 0)
                MPI_Abort(MPI_COMM_WORLD, 2);
        } else if (rank == 1) {
            while (access(name, F_OK) != 0)
                ;
            long found = *memory;
            if (found != round) {
                printf("round %ld: the flush has returned, and the memory holds %ld\n", round, found);
                wrong = 1;
            }
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && !wrong)
        printf("flush ok\n");
    MPI_Finalize();
    return wrong;
}
