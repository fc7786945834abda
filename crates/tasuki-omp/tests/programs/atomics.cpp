// atomics THREADS: threads of a team wait for one another by what C++20 makes of atomic variables, and by
// futures. Each holds what it has for a while, so that the others have to wait. Prints "good THREADS".
#include "check.h"
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <latch>
#include <omp.h>
#include <semaphore>
#include <thread>

static void hold() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// A number that the kernel can wait for, and one for which the library waits by another.
static std::atomic<int> turn;
static std::atomic<long> wide;
static std::atomic_flag open = ATOMIC_FLAG_INIT;
static std::counting_semaphore<> tickets(1);
static std::binary_semaphore never(0);
static int counted;

int main(int argc, char **argv) {
    int threads = omp_get_max_threads(), late = 0, seen = 0, got = 0;
    CHECK(argc == 2 && std::atoi(argv[1]) == threads);
    std::latch all(threads);
    std::barrier steps(threads);
    std::promise<int> promise, later;
    std::shared_future<int> future(promise.get_future()), timed(later.get_future());
    std::atomic<int> step(0);
#pragma omp parallel reduction(+ : late, seen, got)
    {
        int me = omp_get_thread_num();
        for (int round = 0; round < 5; round++) {
            for (int now = turn.load(); now % threads != me; now = turn.load())
                turn.wait(now);
            hold();
            turn++;
            turn.notify_all();
        }
        for (long now = wide.load(); now != me; now = wide.load())
            wide.wait(now);
        hold();
        wide++;
        wide.notify_all();
        for (int i = 0; i < 20; i++) {
            tickets.acquire();
            int before = counted;
            hold();
            counted = before + 1;
            tickets.release();
        }
        late += !never.try_acquire_for(std::chrono::milliseconds(2));
        if (me == threads - 1) {
            hold();
            open.test_and_set();
            open.notify_all();
        }
        open.wait(false);
        all.arrive_and_wait();
        for (int i = 0; i < 5; i++) {
            int before = i == 0 ? 0 : step.load();
            seen += before == i;
            steps.arrive_and_wait();
            if (me == i % threads)
                step = i + 1;
            steps.arrive_and_wait();
        }
        if (me == threads - 1) {
            hold();
            promise.set_value(3);
        }
        got += future.get();
        late += timed.wait_for(std::chrono::milliseconds(2)) == std::future_status::timeout;
    }
    CHECK(turn == 5 * threads && wide == threads && counted == 20 * threads);
    CHECK(late == 2 * threads && seen == 5 * threads && got == 3 * threads);
    std::printf("good %s\n", argv[1]);
}
