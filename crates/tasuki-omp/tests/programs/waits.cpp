// waits THREADS: threads of a team wait for one another by means of C++, C11 and pthreads, not of OpenMP. Each
// holds what it has for a while, so that the others have to wait. Prints "good THREADS".
#include "check.h"
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <threads.h>

static void pause() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

struct Slow {
    int value;
    explicit Slow(int value) : value(value + 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
};

static int made(int value) {
    static Slow slow(value);
    return slow.value;
}

// The first attempt fails, and another thread's succeeds.
static int failing() {
    static int attempts;
    static Slow slow([] {
        pause();
        if (attempts++ == 0)
            throw std::runtime_error("not yet");
        return attempts;
    }());
    return slow.value;
}

static std::mutex mutex;
static std::recursive_mutex again;
static std::shared_mutex readers;
static std::once_flag once, first;
static std::condition_variable changed;
static int counted, nested, written, called, attempts, ready;
static sem_t tickets;

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t steady;

// Waits for 2 ms by a clock that is not that of the day; whether it took as long.
static bool waits_by_the_steady_clock() {
    timespec begun, end, now;
    pthread_mutex_lock(&plain);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    end = begun;
    end.tv_nsec += 2000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    int result = pthread_cond_timedwait(&steady, &plain, &end);
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_unlock(&plain);
    bool over = now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec);
    return result == ETIMEDOUT && over;
}

static pthread_barrier_t *together;
static std::atomic<int> came, last;

// Threads at a barrier, of which one is told that it is the last: how often all others were there.
static int meets(int threads) {
    int full = 0;
    for (int round = 1; round <= 10; round++) {
        came++;
        last += pthread_barrier_wait(together) == PTHREAD_BARRIER_SERIAL_THREAD;
        full += came >= round * threads;
        pthread_barrier_wait(together);
        full += came == round * threads;
        pthread_barrier_wait(together);
    }
    return full;
}

static mtx_t lock, nesting;
static cnd_t told;
static once_flag only = ONCE_FLAG_INIT;
static int held, there, initialized;

// What C11 has: how much of it is as it should be, of 5.
static int locks_of_c(int threads) {
    call_once(&only, [] {
        pause();
        initialized++;
    });
    int right = initialized == 1;
    for (int i = 0; i < 10; i++) {
        mtx_lock(&lock);
        int before = held;
        pause();
        held = before + 1;
        mtx_unlock(&lock);
    }
    mtx_lock(&nesting);
    right += mtx_trylock(&nesting) == thrd_success;
    mtx_unlock(&nesting);
    mtx_unlock(&nesting);
    timespec past = {0, 0};
    mtx_lock(&lock);
    right += mtx_trylock(&lock) == thrd_busy;
    right += cnd_timedwait(&told, &lock, &past) == thrd_timedout;
    // The last one wakes all others.
    if (++there == threads)
        cnd_broadcast(&told);
    while (there < threads)
        cnd_wait(&told, &lock);
    mtx_unlock(&lock);
    return right + (held > 0);
}

int main(int argc, char **argv) {
    pthread_condattr_t by;
    pthread_condattr_init(&by);
    pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    pthread_cond_init(&steady, &by);
    int threads = omp_get_max_threads(), statics = 0, failed = 0, thrown = 0, seen = 0, tried = 0, late = 0;
    CHECK(argc == 2 && std::atoi(argv[1]) == threads);
    sem_init(&tickets, 0, 0);
    together = new pthread_barrier_t;
    pthread_barrier_init(together, nullptr, threads);
    CHECK(mtx_init(&lock, mtx_plain) == thrd_success && cnd_init(&told) == thrd_success);
    CHECK(mtx_init(&nesting, mtx_plain | mtx_recursive) == thrd_success);
    int full = 0, right = 0;
#pragma omp parallel reduction(+ : statics, failed, thrown, seen, tried, late, full, right)
    {
        statics += made(41);
        try {
            failed += failing();
        } catch (const std::runtime_error &) {
            failed += failing();
            thrown++;
        }
        for (int i = 0; i < 20; i++) {
            std::lock_guard<std::mutex> guard(mutex);
            int before = counted;
            pause();
            counted = before + 1;
        }
        for (int i = 0; i < 10; i++) {
            std::lock_guard<std::recursive_mutex> outer(again);
            std::lock_guard<std::recursive_mutex> inner(again);
            int before = nested;
            pause();
            nested = before + 1;
        }
        while (!again.try_lock())
            pause();
        tried++;
        again.unlock();
        for (int i = 0; i < 5; i++) {
            {
                std::unique_lock<std::shared_mutex> guard(readers);
                int before = written;
                pause();
                written = before + 1;
            }
            std::shared_lock<std::shared_mutex> guard(readers);
            int before = written;
            pause();
            seen += before == written;
        }
        std::call_once(once, [] {
            pause();
            called++;
        });
        try {
            std::call_once(first, [] {
                pause();
                if (attempts++ == 0)
                    throw std::runtime_error("not yet");
            });
        } catch (const std::runtime_error &) {
            thrown += 100;
        }
        {
            // The last one wakes all others.
            std::unique_lock<std::mutex> guard(mutex);
            if (++ready == omp_get_num_threads())
                changed.notify_all();
            changed.wait(guard, [] { return ready >= omp_get_num_threads(); });
            late += changed.wait_for(guard, std::chrono::milliseconds(2)) == std::cv_status::timeout;
        }
        late += waits_by_the_steady_clock();
        full += meets(omp_get_num_threads());
        right += locks_of_c(omp_get_num_threads());
        // Each lets the next one pass.
        if (omp_get_thread_num() == 0)
            sem_post(&tickets);
        sem_wait(&tickets);
        pause();
        sem_post(&tickets);
    }
    CHECK(statics == 42 * threads && failed == 3 * threads && thrown % 100 == 1);
    CHECK(counted == 20 * threads && nested == 10 * threads && tried == threads);
    CHECK(written == 5 * threads && seen == 5 * threads);
    CHECK(called == 1 && thrown / 100 == 1 && attempts == (threads > 1 ? 2 : 1) && late == 2 * threads);
    CHECK(full == 20 * threads && last == 10 && right == 5 * threads && held == 10 * threads);
    pthread_barrier_destroy(together);
    delete together;
    std::printf("good %s\n", argv[1]);
}
