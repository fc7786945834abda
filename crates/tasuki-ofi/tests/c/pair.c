#include "pair.h"

#include <sys/wait.h>

int me;
struct fid_ep *ep;
struct fid_cq *cq;
struct fid_av *av;
struct fid_cntr *sent, *received, *accessed;
struct fid_domain *domain;
fi_addr_t own, other;

static struct fid_fabric *fabric;
struct fi_info *info;
static int pipe_end;
static pid_t child;

void check(bool condition, const char *text, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: side %d: not so: %s\n", file, line, me, text);
	exit(1);
}

void ok(ssize_t result, const char *text, const char *file, int line)
{
	if (!result)
		return;
	fprintf(stderr, "%s:%d: side %d: %s: %s\n", file, line, me, text, fi_strerror((int)-result));
	exit(1);
}

static void put(const void *bytes, size_t len)
{
	CHECK(write(pipe_end, bytes, len) == (ssize_t)len);
}

static void get(void *bytes, size_t len)
{
	CHECK(recv(pipe_end, bytes, len, MSG_WAITALL) == (ssize_t)len);
}

void tell(int value)
{
	put(&value, sizeof value);
}

int hear(void)
{
	int value;

	get(&value, sizeof value);
	return value;
}

void meet(void)
{
	tell(0);
	hear();
}

struct fi_cq_tagged_entry next(void *context, fi_addr_t *source, const char *file, int line)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	fi_addr_t from;
	ssize_t n;

	while ((n = fi_cq_readfrom(cq, &entry, 1, &from)) == -FI_EAGAIN)
		;
	if (n == -FI_EAVAIL) {
		CHECK(fi_cq_readerr(cq, &error, 0) == 1);
		fprintf(stderr, "side %d: %s\n", me,
			fi_cq_strerror(cq, error.prov_errno, error.err_data, NULL, 0));
	}
	check(n == 1, "a completion", file, line);
	check(entry.op_context == context, "the completion of this context", file, line);
	if (source)
		*source = from;
	return entry;
}

struct fi_cq_err_entry next_failed(void *context, int err, const char *file, int line)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t n;

	while ((n = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		;
	check(n == -FI_EAVAIL, "a failure", file, line);
	CHECK(fi_cq_readerr(cq, &error, 0) == 1);
	check(error.op_context == context, "the failure of this context", file, line);
	check(error.err == err, "this failure", file, line);
	const char *text = fi_cq_strerror(cq, error.prov_errno, error.err_data, NULL, 0);
	check(text && *text && strcmp(text, "unknown error"), "what the failure is, in words", file, line);
	return error;
}

void nothing(void)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 1000; i++)
		CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
}

void fill(uint8_t *bytes, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 253 + seed);
}

void same(const uint8_t *bytes, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		CHECK(bytes[i] == (uint8_t)(i * 31 + i / 253 + seed));
}

struct fi_info *pair_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints != NULL);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV | FI_MULTI_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->cq_data_size = 4;
	hints->fabric_attr->prov_name = strdup("tasuki");
	return hints;
}

static void pair_info(void)
{
	struct fi_info *hints = pair_hints();

	OK(fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info));
	CHECK(info->next == NULL);
	CHECK(info->domain_attr->threading == FI_THREAD_DOMAIN);
	CHECK(!strcmp(info->fabric_attr->prov_name, "tasuki"));
	hints->caps |= FI_FENCE;
	struct fi_info *none = NULL;
	CHECK(fi_getinfo(fi_version(), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
	fi_freeinfo(hints);
}

static void pair_names(void)
{
	uint8_t names[2][64];
	fi_addr_t numbers[2];
	size_t len = 4;
	char text[128];
	uint8_t again[64];

	CHECK(fi_getname(&ep->fid, names[0], &len) == -FI_ETOOSMALL);
	CHECK(len > 4 && len <= 64);
	/* The addresses are contiguous, as an address vector wants them. */
	OK(fi_getname(&ep->fid, names[0], &len));
	put(names[0], len);
	get(&names[0][len], len);
	CHECK(fi_av_insert(av, names[0], 2, numbers, 0, NULL) == 2);
	own = numbers[0];
	other = numbers[1];
	size_t room = sizeof again;
	OK(fi_av_lookup(av, other, again, &room));
	CHECK(room == len && !memcmp(again, &names[0][len], len));
	room = sizeof text;
	CHECK(fi_av_straddr(av, again, text, &room) == text);
	CHECK(strlen(text) + 1 == room);
}

void pair_objects(enum fi_av_type type, bool selective)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av_attr = { .type = type, .name = "shared" };

	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
	CHECK(fi_av_open(domain, &av_attr, &av, NULL) != 0);
	av_attr.name = NULL;
	OK(fi_av_open(domain, &av_attr, &av, NULL));
	OK(fi_cq_open(domain, &cq_attr, &cq, NULL));
	OK(fi_endpoint(domain, info, &ep, NULL));
	OK(fi_ep_bind(ep, &av->fid, 0));
	OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV | (selective ? FI_SELECTIVE_COMPLETION : 0)));
	OK(fi_cntr_open(domain, &cntr_attr, &accessed, NULL));
	OK(fi_ep_bind(ep, &accessed->fid, FI_READ | FI_WRITE));
	if (selective) {
		OK(fi_cntr_open(domain, &cntr_attr, &sent, NULL));
		OK(fi_cntr_open(domain, &cntr_attr, &received, NULL));
		OK(fi_ep_bind(ep, &sent->fid, FI_SEND));
		OK(fi_ep_bind(ep, &received->fid, FI_RECV));
	}
	CHECK(fi_send(ep, NULL, 0, NULL, 0, NULL) == -FI_EOPBADSTATE);
	OK(fi_enable(ep));
	CHECK(fi_close(&cq->fid) == -FI_EBUSY);
}

void pair_open(enum fi_av_type type, bool selective)
{
	pair_info();
	pair_objects(type, selective);
	pair_names();
}

void pair_close_objects(void)
{
	OK(fi_close(&ep->fid));
	OK(fi_close(&av->fid));
	OK(fi_close(&cq->fid));
	OK(fi_close(&accessed->fid));
	if (sent) {
		OK(fi_close(&sent->fid));
		OK(fi_close(&received->fid));
	}
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

void pair_close(void)
{
	meet();
	pair_close_objects();
	if (child) {
		int status;

		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

void leave_child(void)
{
	pid_t left = fork();
	char byte;

	CHECK(left >= 0);
	if (left)
		return;
	while (recv(pipe_end, &byte, 1, 0) > 0)
		;
	_exit(0);
}

void pair_fork(void)
{
	int ends[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	child = fork();
	CHECK(child >= 0);
	me = child ? 0 : 1;
	pipe_end = ends[me];
	/* The other end is closed, so that each side notices if the other is gone. */
	close(ends[1 - me]);
	alarm(600);
}
