/* Two processes with one endpoint each, and a pipe between them for everything that is not tested. */
#ifndef PAIR_H
#define PAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define LEN(array) (sizeof(array) / sizeof(*(array)))
#define ANY FI_ADDR_UNSPEC

extern int me; /* 0 or 1 */
extern struct fi_info *info;
extern struct fid_ep *ep;
extern struct fid_cq *cq;
extern struct fid_av *av;
extern struct fid_domain *domain;
extern struct fid_cntr *sent, *received, *accessed;
extern fi_addr_t own, other; /* names in the address vector */

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define OK(call) ok((call), #call, __FILE__, __LINE__)
void check(bool condition, const char *text, const char *file, int line);
void ok(ssize_t result, const char *text, const char *file, int line);

/* One side tells the other a number, through the pipe. */
void tell(int value);
int hear(void);
/* A barrier: both sides come here before either goes on. */
void meet(void);

/* Waits for the next completion and returns it. It must be a success, with this context. */
#define done(context) next((context), NULL, __FILE__, __LINE__)
/* As done(), and gives the completion's sender. */
#define done_from(context, source) next((context), (source), __FILE__, __LINE__)
struct fi_cq_tagged_entry next(void *context, fi_addr_t *source, const char *file, int line);
/* Waits for the next completion, which must be this failure. */
#define failed(context, err) next_failed((context), (err), __FILE__, __LINE__)
struct fi_cq_err_entry next_failed(void *context, int err, const char *file, int line);
/* Checks that nothing is reported now. */
void nothing(void);

void fill(uint8_t *bytes, size_t len, unsigned seed);
void same(const uint8_t *bytes, size_t len, unsigned seed);

void pair_open(enum fi_av_type type, bool selective);
void pair_close(void);
/* The parts of pair_open: the hints, and all objects of an endpoint for the answer to them, which is in
 * `info`. */
struct fi_info *pair_hints(void);
void pair_objects(enum fi_av_type type, bool selective);
void pair_close_objects(void);
/* Makes two processes of one, and the pipe between them. */
void pair_fork(void);
/* Forks a child of this process that does nothing and lives as long as the other side. */
void leave_child(void);

#endif
