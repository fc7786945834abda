/* teams THREADS [set]: leagues of teams, what they are like if they do not say, and what tasks are told of
 * themselves. With "set" the environment says what they are like: OMP_NUM_TEAMS is 2, OMP_TEAMS_THREAD_LIMIT
 * is 1. Prints "good THREADS". */
#include "check.h"
#include <omp.h>
#include <string.h>

/* OpenMP 5.2, 18.5.3: libraries before it have no such function. */
int omp_in_explicit_task(void) __attribute__((weak));

/* By functions: gcc refuses these calls themselves in teams. */
static int size(void) {
    int all = 0;
#pragma omp parallel
#pragma omp single
    all = omp_get_num_threads();
    return all;
}

static int limit_here(void) {
    return omp_get_thread_limit();
}

/* 10.2: as many teams as the clause says, whose threads know them. */
static void counted(void) {
    enum { TEAMS = 3 };
    int seen[TEAMS + 1] = {0}, of[TEAMS + 1] = {0}, wrong = 0;
#pragma omp teams num_teams(TEAMS) reduction(+ : wrong)
    {
        int team = omp_get_team_num();
        seen[team]++;
        of[team] = omp_get_num_teams();
#pragma omp parallel reduction(+ : wrong)
        wrong += omp_get_team_num() != team || omp_get_num_teams() != TEAMS;
    }
    for (int team = 0; team < TEAMS; team++)
        CHECK(seen[team] == 1 && of[team] == TEAMS);
    CHECK(seen[TEAMS] == 0 && wrong == 0 && omp_get_num_teams() == 1 && omp_get_team_num() == 0);
}

/* 11.6: every iteration is one team's, and one thread's. */
static void distributed(void) {
    static int done[301], by[301];
    int last = -1;
#pragma omp teams distribute parallel for num_teams(3)
    for (int i = 0; i < 301; i++)
        done[i]++;
#pragma omp teams num_teams(4)
#pragma omp distribute dist_schedule(static, 7)
    for (int i = 0; i < 301; i++) {
        done[i]++;
        by[i] = omp_get_team_num();
    }
#pragma omp teams num_teams(2)
#pragma omp distribute parallel for dist_schedule(static, 10) schedule(dynamic, 3) lastprivate(last)
    for (int i = 300; i >= 0; i--) {
        done[i]++;
        last = i;
    }
    /* More teams than iterations. */
#pragma omp teams distribute num_teams(5)
    for (int i = 0; i < 2; i++)
        done[i]--;
    for (int i = 0; i < 301; i++)
        CHECK(done[i] == (i < 2 ? 2 : 3) && by[i] == i / 7 % 4);
    CHECK(last == 0);
}

/* The teams of the next league, which does not say how many, and the threads of its regions. */
static void of_next(int *teams, int *threads, int *limit) {
    int count = 0, most = 0, bound = 0;
#pragma omp teams reduction(+ : count) reduction(max : most, bound)
    {
        count += 1;
        most = size();
        bound = limit_here();
    }
    *teams = count;
    *threads = most;
    *limit = bound;
}

/* 18.4: what is set counts for leagues without a clause, and all threads see it. */
static void defaults(int threads, int is_set) {
    int teams, most, limit, wrong = 0;
    CHECK(omp_get_max_teams() == (is_set ? 2 : 0) && omp_get_teams_thread_limit() == (is_set ? 1 : 0));
    of_next(&teams, &most, &limit);
    CHECK(!is_set || (teams == 2 && most == 1 && limit == 1));
    omp_set_num_teams(3);
    omp_set_teams_thread_limit(2);
#pragma omp parallel reduction(+ : wrong)
    wrong += omp_get_max_teams() != 3 || omp_get_teams_thread_limit() != 2;
    of_next(&teams, &most, &limit);
    CHECK(wrong == 0 && teams == 3 && most <= 2 && limit <= 2 && size() == threads);
#pragma omp teams num_teams(1) thread_limit(1)
    {
        teams = omp_get_num_teams();
        most = size();
    }
    CHECK(teams == 1 && most == 1 && size() == threads && omp_get_thread_limit() >= threads);
}

static void inside(void) {
    int wrong = 0;
    CHECK(omp_in_explicit_task && !omp_in_explicit_task() && !omp_in_final());
#pragma omp parallel reduction(+ : wrong)
    {
        int in = 0, below = 0;
#pragma omp task shared(in, below)
        {
            in = omp_in_explicit_task();
#pragma omp parallel num_threads(1)
            below = omp_in_explicit_task();
            in += omp_in_explicit_task();
        }
#pragma omp task shared(in) if (0)
        in += omp_in_explicit_task();
#pragma omp taskwait
        wrong += in != 3 || below != 0 || omp_in_explicit_task() || omp_in_final();
    }
    CHECK(wrong == 0);
}

int main(int argc, char **argv) {
    int threads = omp_get_max_threads();
    CHECK(argc >= 2 && atoi(argv[1]) == threads);
    counted();
    distributed();
    defaults(threads, argc > 2 && strcmp(argv[2], "set") == 0);
    inside();
    printf("good %s\n", argv[1]);
    return 0;
}
