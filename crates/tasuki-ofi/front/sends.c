/* Requests of MPI_Isend in Open MPI 4 and 5, kept from being given back twice if a program calls MPI from
 * several threads: a part of `libtasuki-openmpi.so` (docs/adr/0035-sends-of-threads-put-right-from-above.md).
 *
 * The thread that reads the completion of a send tells the sender of it, then marks the request as finished
 * with, then looks whether the sender has freed it (`mca_pml_cm_send_request_completion`). The sender, which
 * goes on as soon as it is told, marks it as freed, and then looks whether it is finished with. If both look
 * when both have marked, both give the request back; two later sends get the same one, and the program dies.
 * Here the two sections exclude each other. A persistent send that is started again waits in the same way
 * until its last completion has been left.
 *
 * Both functions that are replaced are found through the dynamic linker, also by the library that has them.
 * The function that frees is not; its pointer is replaced in each request, where it is between those of the
 * functions that start and cancel. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request request_t;
typedef int start_function(size_t, request_t **);
typedef int free_function(request_t **);

/* The part of `ompi_request_t` that is needed here; on machines of 64 bits it is so from 4.0 to 5.0. */
struct request {
	unsigned char before[0x70];
	start_function *start;
	free_function *free;
};

/* The beginning of `mca_mtl_request_t`. */
struct transfer {
	request_t *request;
};

/* The functions in whose place those below are. */
static struct {
	void (*completion)(struct transfer *);
	start_function *start;
	/* That of requests for sends; NULL until one has been seen. */
	free_function *free;
	/* Whether the program may call from several threads at once; NULL if Open MPI does not say. */
	const bool *threads;
	/* Where the component that has them begins. */
	void *place;
} original;

/* Requests share locks by their address: a completion takes less than a microsecond. */
enum { LOCKS = 64, REQUEST_BYTES = 512 };

static struct {
	_Alignas(64) pthread_mutex_t mutex;
} locks[LOCKS];

/* How many completions this thread is in: one may make progress, and meet others. */
static __thread int depth;

static void resolve(void)
{
	void *mpi = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
	void *component = dlopen("mca_pml_cm.so", RTLD_NOW | RTLD_NOLOAD);
	void *completion, *start, *threads;
	Dl_info info;

	/* It is a file of its own in some builds, and within the library in others. */
	if (!component)
		component = mpi;
	completion = component ? dlsym(component, "mca_pml_cm_send_request_completion") : NULL;
	start = component ? dlsym(component, "mca_pml_cm_start") : NULL;
	threads = mpi ? dlsym(mpi, "ompi_mpi_thread_multiple") : NULL;
	if (!completion || !start || !dladdr(completion, &info)) {
		fprintf(stderr, "tasuki: this MPI has no mca_pml_cm of its own: unset LD_PRELOAD\n");
		abort();
	}
	memcpy(&original.completion, &completion, sizeof completion);
	memcpy(&original.start, &start, sizeof start);
	memcpy(&original.threads, &threads, sizeof threads);
	original.place = info.dli_fbase;
	for (size_t i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i].mutex, NULL);
}

/* Whether anything has to be done here. */
static bool has_threads(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, resolve);
	return !original.threads || *original.threads;
}

static pthread_mutex_t *lock_of(const request_t *request)
{
	return &locks[(uintptr_t)request / REQUEST_BYTES % LOCKS].mutex;
}

/* Takes the lock of a request. Within a completion only if it is free, as two threads could wait for each
 * other there; what is met there is hardly ever freed at the same time. */
static bool take(const request_t *request)
{
	return (depth ? pthread_mutex_trylock : pthread_mutex_lock)(lock_of(request)) == 0;
}

static int guarded_free(request_t **request)
{
	/* The request is gone afterwards. */
	pthread_mutex_t *lock = lock_of(*request);
	bool held = take(*request);
	int result = original.free(request);

	if (held)
		pthread_mutex_unlock(lock);
	return result;
}

#define EXPORTED __attribute__((visibility("default")))

/* Open MPI calls this by the name: MPI_Startall, and MPI_Start through the pointer in a request. */
EXPORTED int mca_pml_cm_start(size_t count, request_t **requests);

/* Whether the request has its functions where they are looked for, that is, whether the layout is right. */
static bool is_known(const request_t *request)
{
	Dl_info info;
	void *start, *function;

	memcpy(&start, &request->start, sizeof start);
	memcpy(&function, &request->free, sizeof function);
	return (request->start == mca_pml_cm_start || request->start == original.start) &&
	       dladdr(function, &info) && info.dli_fbase == original.place;
}

/* Leaves the request to be freed by the function above. Called with its lock held. */
static void guard(request_t *request)
{
	free_function *none = NULL, *present = request->free;

	if (present == guarded_free)
		return;
	if (present != __atomic_load_n(&original.free, __ATOMIC_ACQUIRE)) {
		if (!is_known(request))
			return;
		if (!__atomic_compare_exchange_n(&original.free, &none, present, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE) &&
		    none != present)
			return;
	}
	__atomic_store_n(&request->free, guarded_free, __ATOMIC_RELEASE);
}

EXPORTED void mca_pml_cm_send_request_completion(struct transfer *transfer)
{
	/* Both may be another send's as soon as the original has returned. */
	request_t *request = transfer->request;
	pthread_mutex_t *lock = lock_of(request);
	bool held;

	if (!has_threads()) {
		original.completion(transfer);
		return;
	}
	held = take(request);
	guard(request);
	depth++;
	original.completion(transfer);
	depth--;
	if (held)
		pthread_mutex_unlock(lock);
}

EXPORTED int mca_pml_cm_start(size_t count, request_t **requests)
{
	if (has_threads())
		for (size_t i = 0; i < count; i++)
			if (take(requests[i]))
				pthread_mutex_unlock(lock_of(requests[i]));
	return original.start(count, requests);
}
