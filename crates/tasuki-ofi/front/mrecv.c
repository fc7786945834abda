/* MPI_Mrecv and MPI_Imrecv of Open MPI 4 and 5, put right: a part of `libtasuki-openmpi.so`, which `tasuki
 * run` and `tasuki env` preload (docs/adr/0016-mrecv-put-right-from-above.md).
 *
 * If the type has gaps, Open MPI's component for libfabric (`mtl/ofi`) receives a matched message into a
 * buffer of its own, and then forgets to unpack it: the call returns MPI_SUCCESS, and the program's memory is
 * as it was. No provider can mend that, because none knows the type. Here, at MPI's profiling interface, the
 * packed bytes are received as bytes, which Open MPI does correctly, and then unpacked.
 *
 * This file is compiled without any mpi.h: handles are pointers, constants are the addresses of the library's
 * symbols, and MPI_Status has the layout of libmpi.so.40, which both versions have. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
typedef long long mpi_count;

typedef struct {
	int source, tag, error, cancelled;
	size_t bytes;
} status_t;

typedef int query_function(void *, status_t *);
typedef int free_function(void *);
typedef int cancel_function(void *, int);

/* Functions and constants of the MPI library, under the names of its profiling interface. */
static struct {
	int (*mrecv)(void *, int, handle, handle *, status_t *);
	int (*imrecv)(void *, int, handle, handle *, handle *);
	int (*get_envelope)(handle, int *, int *, int *, int *);
	int (*get_extent)(handle, ptrdiff_t *, ptrdiff_t *);
	int (*size)(handle, mpi_count *);
	int (*contiguous)(int, handle, handle *);
	int (*commit)(handle *);
	int (*type_free)(handle *);
	int (*pack)(const void *, int, handle, void *, int, int *, handle);
	int (*unpack)(const void *, int, int *, void *, int, handle, handle);
	int (*get_elements)(const status_t *, handle, mpi_count *);
	int (*set_elements)(status_t *, handle, mpi_count);
	int (*grequest_start)(query_function *, free_function *, cancel_function *, void *, handle *);
	int (*grequest_complete)(handle);
	int (*abort)(handle, int);
	handle byte, world;
} mpi;

/* Open MPI's number for a type that has a name and was not made by the program, and numbers of results. */
enum { COMBINER_NAMED = 0, SUCCESS = 0, ERR_NO_MEM = 34 };

static void resolve(void)
{
	static const struct { void *at; const char *name; } wanted[] = {
		{ &mpi.mrecv, "PMPI_Mrecv" },
		{ &mpi.imrecv, "PMPI_Imrecv" },
		{ &mpi.get_envelope, "PMPI_Type_get_envelope" },
		{ &mpi.get_extent, "PMPI_Type_get_extent" },
		{ &mpi.size, "PMPI_Type_size_x" },
		{ &mpi.contiguous, "PMPI_Type_contiguous" },
		{ &mpi.commit, "PMPI_Type_commit" },
		{ &mpi.type_free, "PMPI_Type_free" },
		{ &mpi.pack, "PMPI_Pack" },
		{ &mpi.unpack, "PMPI_Unpack" },
		{ &mpi.get_elements, "PMPI_Get_elements_x" },
		{ &mpi.set_elements, "PMPI_Status_set_elements_x" },
		{ &mpi.grequest_start, "PMPI_Grequest_start" },
		{ &mpi.grequest_complete, "PMPI_Grequest_complete" },
		{ &mpi.abort, "PMPI_Abort" },
		{ &mpi.byte, "ompi_mpi_byte" },
		{ &mpi.world, "ompi_mpi_comm_world" },
	};
	/* The library is loaded, because it has called; its symbols are not global if the program has loaded
	 * it by itself, as Python does. */
	void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *symbol = library ? dlsym(library, wanted[i].name) : NULL;

		if (!symbol) {
			fprintf(stderr, "tasuki: this MPI has no %s: unset LD_PRELOAD\n", wanted[i].name);
			abort();
		}
		memcpy(wanted[i].at, &symbol, sizeof symbol);
	}
}

static void prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, resolve);
}

/* Whether elements of the type lie in memory as in a message, one behind the other. Types that the program
 * has made are not examined, and taken to have gaps. */
static int is_plain(handle type)
{
	int integers, addresses, types, combiner;
	ptrdiff_t low, extent;
	mpi_count size;

	return mpi.get_envelope(type, &integers, &addresses, &types, &combiner) == SUCCESS &&
	       combiner == COMBINER_NAMED && mpi.get_extent(type, &low, &extent) == SUCCESS &&
	       mpi.size(type, &size) == SUCCESS && low == 0 && size == extent;
}

/* Unpacks an element of which only the first bytes were received; the rest of it stays as it is. */
static int unpack_part(char *to, handle type, const char *from, int bytes, int size)
{
	char *whole = malloc((size_t)size);
	int place = 0, result;

	if (!whole)
		return ERR_NO_MEM;
	result = mpi.pack(to, 1, type, whole, size, &place, mpi.world);
	memcpy(whole, from, (size_t)bytes);
	place = 0;
	if (result == SUCCESS)
		result = mpi.unpack(whole, size, &place, to, 1, type, mpi.world);
	free(whole);
	return result;
}

static int unpack(char *to, handle type, const char *from, size_t bytes, int size)
{
	ptrdiff_t low, extent;
	/* At most so many elements at once that an int can count their bytes. */
	size_t whole = bytes / (size_t)size, most = INT_MAX / (size_t)size;
	int result = mpi.get_extent(type, &low, &extent);

	for (size_t done = 0; result == SUCCESS && done < whole;) {
		int count = (int)(whole - done < most ? whole - done : most), place = 0;

		result = mpi.unpack(from + done * (size_t)size, count * size, &place,
				    to + (ptrdiff_t)done * extent, count, type, mpi.world);
		done += (size_t)count;
	}
	if (result == SUCCESS && bytes % (size_t)size)
		result = unpack_part(to + (ptrdiff_t)whole * extent, type, from + whole * (size_t)size,
				     (int)(bytes % (size_t)size), size);
	return result;
}

/* Receives the bytes of at most `count` elements, and unpacks those that came. */
static int receive(void *buffer, int count, handle type, int size, handle *message, status_t *status)
{
	handle element;
	mpi_count bytes = 0;
	char *packed = malloc((size_t)count * (size_t)size);
	int result;

	if (!packed)
		return ERR_NO_MEM;
	result = mpi.contiguous(size, mpi.byte, &element);
	if (result == SUCCESS) {
		result = mpi.commit(&element);
		if (result == SUCCESS)
			result = mpi.mrecv(packed, count, element, message, status);
		mpi.type_free(&element);
	}
	if (result == SUCCESS)
		result = mpi.get_elements(status, mpi.byte, &bytes);
	if (result == SUCCESS)
		result = unpack(buffer, type, packed, (size_t)bytes, size);
	free(packed);
	return result;
}

/* The size of an element in a message, bytes, if the message has to be unpacked here; otherwise 0. */
static int size_to_unpack(int count, handle type)
{
	mpi_count size;

	prepare();
	if (count <= 0 || !type || is_plain(type) || mpi.size(type, &size) != SUCCESS || size <= 0)
		return 0;
	if (size > INT_MAX) {
		fprintf(stderr,
			"tasuki: a matched message cannot be received into an element of %lld bytes: Open "
			"MPI would lose it (docs/guide/run.md); use MPI_Recv\n",
			size);
		mpi.abort(mpi.world, 1);
	}
	return (int)size;
}

static int mrecv(void *buffer, int count, handle type, handle *message, status_t *status)
{
	status_t own;
	int size = size_to_unpack(count, type);

	if (!size)
		return mpi.mrecv(buffer, count, type, message, status);
	return receive(buffer, count, type, size, message, status ? status : &own);
}

static int query(void *state, status_t *status)
{
	const status_t *received = state;
	int result = mpi.set_elements(status, mpi.byte, (mpi_count)received->bytes);

	status->source = received->source;
	status->tag = received->tag;
	status->cancelled = 0;
	return result;
}

static int release(void *state)
{
	free(state);
	return SUCCESS;
}

static int cancel(void *state, int complete)
{
	(void)state;
	(void)complete;
	return SUCCESS;
}

/* The message is matched, and Tasuki delivers it without the sender's program: it is received within the
 * call. */
static int imrecv(void *buffer, int count, handle type, handle *message, handle *request)
{
	int size = size_to_unpack(count, type), result;
	status_t *received;

	if (!size)
		return mpi.imrecv(buffer, count, type, message, request);
	received = malloc(sizeof *received);
	if (!received)
		return ERR_NO_MEM;
	result = receive(buffer, count, type, size, message, received);
	if (result == SUCCESS)
		result = mpi.grequest_start(query, release, cancel, received, request);
	if (result != SUCCESS) {
		free(received);
		return result;
	}
	return mpi.grequest_complete(*request);
}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int MPI_Mrecv(void *buffer, int count, handle type, handle *message, status_t *status)
{
	return mrecv(buffer, count, type, message, status);
}

/* The Fortran interface calls the name of the profiling interface. */
EXPORTED int PMPI_Mrecv(void *buffer, int count, handle type, handle *message, status_t *status)
{
	return mrecv(buffer, count, type, message, status);
}

EXPORTED int MPI_Imrecv(void *buffer, int count, handle type, handle *message, handle *request)
{
	return imrecv(buffer, count, type, message, request);
}

EXPORTED int PMPI_Imrecv(void *buffer, int count, handle type, handle *message, handle *request)
{
	return imrecv(buffer, count, type, message, request);
}
