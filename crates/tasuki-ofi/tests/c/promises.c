/* What fi_getinfo promises and what it refuses, against fi_getinfo(3) and the pages that it names. */
#include "pair.h"

#include <pthread.h>
#include <rdma/fi_eq.h>

enum { ADDRESS = 48 };

static struct fi_info *hints;

/* The answer to `hints` of a program that was written for this version. */
static struct fi_info *ask(uint32_t version, const char *node, const char *service, uint64_t flags)
{
	struct fi_info *answer = NULL;
	int result = fi_getinfo(version, node, service, flags, hints, &answer);

	CHECK(!result == !!answer);
	return answer;
}

static bool answers(const char *node, const char *service, uint64_t flags)
{
	struct fi_info *answer = ask(fi_version(), node, service, flags);
	bool has = answer && answer->src_addr && answer->src_addrlen == ADDRESS;

	/* fi_getinfo(3): without FI_SOURCE, node and service name the destination. */
	CHECK(!has || !answer->dest_addr == !((node || service) && !(flags & FI_SOURCE)));
	fi_freeinfo(answer);
	return has;
}

static void addresses(void)
{
	hints = pair_hints();
	CHECK(answers(NULL, NULL, 0));
	CHECK(answers("localhost", NULL, FI_SOURCE));
	CHECK(answers("127.0.0.1", "4711", FI_SOURCE));
	CHECK(answers("127.0.0.1", "4711", FI_SOURCE | FI_NUMERICHOST));
	CHECK(answers(NULL, "4711", FI_SOURCE));
	CHECK(answers("localhost", "4711", 0));
	CHECK(answers("10.77.0.1", NULL, FI_NUMERICHOST));
	CHECK(answers(NULL, "4711", 0));
	/* A source is named, and is this host's: nobody has an address of RFC 5737. Names are not numbers. */
	CHECK(!answers(NULL, NULL, FI_SOURCE));
	CHECK(!answers("192.0.2.1", "4711", FI_SOURCE));
	CHECK(!answers("localhost", "4711", FI_NUMERICHOST));
	CHECK(!answers("localhost", "no such service", 0));

	/* What the hints say of addresses comes back, unless node and service say something else. */
	struct fi_info *source = ask(fi_version(), "127.0.0.1", "4711", FI_SOURCE);
	struct fi_info *destination = ask(fi_version(), "127.0.0.1", "4712", 0);
	hints->src_addr = source->src_addr;
	hints->src_addrlen = ADDRESS;
	hints->dest_addr = destination->dest_addr;
	hints->dest_addrlen = ADDRESS;
	struct fi_info *both = ask(fi_version(), NULL, NULL, 0);
	CHECK(!memcmp(both->src_addr, source->src_addr, ADDRESS));
	CHECK(!memcmp(both->dest_addr, destination->dest_addr, ADDRESS));
	struct fi_info *other_source = ask(fi_version(), "127.0.0.1", "4713", FI_SOURCE);
	CHECK(memcmp(other_source->src_addr, source->src_addr, ADDRESS));
	CHECK(!memcmp(other_source->dest_addr, destination->dest_addr, ADDRESS));
	hints->src_addr = hints->dest_addr = NULL;
	fi_freeinfo(other_source);
	fi_freeinfo(both);
	fi_freeinfo(source);
	fi_freeinfo(destination);
	fi_freeinfo(hints);
}

/* Each hint asks for something that is not kept, so that there must be no answer. */
#define REFUSED(hint) refused_if((hints = pair_hints(), (hint), fi_version()), #hint)
static void refused_if(uint32_t version, const char *hint)
{
	struct fi_info *answer = ask(version, NULL, NULL, 0);

	check(!answer, hint, __FILE__, __LINE__);
	fi_freeinfo(hints);
}

static void refusals(void)
{
	REFUSED(hints->caps |= FI_FENCE);
	REFUSED(hints->caps |= FI_RMA_EVENT);
	REFUSED(hints->caps |= FI_SOURCE_ERR);
	REFUSED(hints->caps = FI_MSG | FI_READ);
	REFUSED(hints->tx_attr->caps = FI_MULTICAST);
	REFUSED((hints->caps = FI_MSG | FI_RMA, hints->tx_attr->caps = FI_ATOMIC));
	REFUSED((hints->caps = FI_MSG, hints->tx_attr->caps = FI_TAGGED));
	REFUSED((hints->caps = FI_MSG, hints->rx_attr->caps = FI_RMA));
	REFUSED(hints->tx_attr->op_flags = FI_FENCE);
	REFUSED(hints->tx_attr->op_flags = FI_COMMIT_COMPLETE);
	REFUSED(hints->rx_attr->op_flags = FI_PEEK);
	REFUSED(hints->rx_attr->op_flags = FI_CLAIM);
	REFUSED(hints->rx_attr->op_flags = FI_DISCARD);
	REFUSED(hints->tx_attr->msg_order = FI_ORDER_RAW);
	REFUSED(hints->rx_attr->msg_order = FI_ORDER_SAW);
	REFUSED(hints->tx_attr->comp_order = FI_ORDER_STRICT);
	REFUSED(hints->rx_attr->comp_order = FI_ORDER_DATA);
	REFUSED(hints->tx_attr->inject_size = 4097);
	REFUSED(hints->tx_attr->iov_limit = 17);
	REFUSED(hints->tx_attr->rma_iov_limit = 17);
	REFUSED(hints->rx_attr->iov_limit = 17);
	REFUSED(hints->rx_attr->total_buffered_recv = 1);
	REFUSED(hints->ep_attr->type = FI_EP_MSG);
	REFUSED(hints->ep_attr->max_order_raw_size = 1);
	REFUSED(hints->ep_attr->max_order_war_size = 1);
	REFUSED(hints->ep_attr->max_order_waw_size = 1);
	REFUSED(hints->ep_attr->tx_ctx_cnt = 2);
	REFUSED(hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT);
	REFUSED(hints->domain_attr->caps = FI_SHARED_AV);
	REFUSED(hints->domain_attr->mr_iov_limit = 17);
	REFUSED(hints->domain_attr->mr_key_size = 9);
	REFUSED(hints->domain_attr->cq_data_size = 9);
	REFUSED(hints->domain_attr->max_err_data = 1);
	REFUSED(hints->domain_attr->mr_mode = FI_MR_BASIC);
	REFUSED(hints->domain_attr->threading = FI_THREAD_ENDPOINT + 1);
	REFUSED(hints->domain_attr->resource_mgmt = FI_RM_ENABLED + 1);
	REFUSED(hints->addr_format = FI_SOCKADDR_IN);
	/* Virtual addresses and keys of the provider's choice, as programs before 1.5 may want them. */
	hints = pair_hints();
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	refused_if(FI_VERSION(1, 4), "remote memory of mode FI_MR_BASIC");
	hints = pair_hints();
	hints->caps = FI_MSG;
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	struct fi_info *answer = ask(FI_VERSION(1, 4), NULL, NULL, 0);
	CHECK(answer && answer->domain_attr->mr_mode == FI_MR_BASIC);
	fi_freeinfo(answer);
	fi_freeinfo(hints);
}

/* Output values are greater than or equal to the requested values. */
static void wishes(void)
{
	static const size_t many = 1 << 20;

	hints = pair_hints();
	hints->tx_attr->inject_size = 4096;
	hints->tx_attr->iov_limit = hints->tx_attr->rma_iov_limit = hints->rx_attr->iov_limit = 16;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE | FI_COMPLETION;
	hints->tx_attr->tclass = FI_TC_LOW_LATENCY;
	hints->domain_attr->mr_iov_limit = 16;
	hints->domain_attr->cq_data_size = 8;
	hints->domain_attr->cq_cnt = hints->domain_attr->ep_cnt = hints->domain_attr->cntr_cnt = many;
	hints->domain_attr->tx_ctx_cnt = hints->domain_attr->rx_ctx_cnt = hints->domain_attr->mr_cnt = many;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	struct fi_info *answer = ask(fi_version(), NULL, NULL, 0);
	CHECK(answer != NULL);
	struct fi_domain_attr *domain = answer->domain_attr;
	CHECK((answer->caps & hints->caps) == hints->caps && answer->mode == 0);
	CHECK(answer->tx_attr->inject_size >= 4096 && answer->tx_attr->iov_limit >= 16);
	CHECK(answer->tx_attr->rma_iov_limit >= 16 && answer->rx_attr->iov_limit >= 16);
	CHECK(answer->tx_attr->op_flags == hints->tx_attr->op_flags);
	/* Classes are not offered: a wish for one is passed over, and the answer says so. */
	CHECK(answer->tx_attr->tclass == FI_TC_UNSPEC && domain->tclass == FI_TC_UNSPEC);
	CHECK(domain->mr_iov_limit >= 16 && domain->cq_data_size >= 8);
	CHECK(domain->cq_cnt >= many && domain->ep_cnt >= many && domain->cntr_cnt >= many);
	CHECK(domain->tx_ctx_cnt >= many && domain->rx_ctx_cnt >= many && domain->mr_cnt >= many);
	CHECK(domain->data_progress == FI_PROGRESS_AUTO);
	fi_freeinfo(answer);
	fi_freeinfo(hints);
}

/* Another thread waits at a queue of two endpoints: one of them closes meanwhile, and nothing of it stays. */
static void *waits(void *queue)
{
	struct fi_cq_tagged_entry entry;

	CHECK(fi_cq_sread(queue, &entry, 1, NULL, -1) == -FI_EAGAIN);
	return NULL;
}

static void closes_beside_a_thread_that_waits(void)
{
	for (unsigned round = 0; round < 5; round++) {
		struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC };
		struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
		struct fid_cq *queue;
		struct fid_av *avs[2];
		struct fid_ep *eps[2];
		pthread_t thread;

		OK(fi_cq_open(domain, &cq_attr, &queue, NULL));
		for (unsigned i = 0; i < 2; i++) {
			OK(fi_av_open(domain, &av_attr, &avs[i], NULL));
			OK(fi_endpoint(domain, info, &eps[i], NULL));
			OK(fi_ep_bind(eps[i], &avs[i]->fid, 0));
			OK(fi_ep_bind(eps[i], &queue->fid, FI_TRANSMIT | FI_RECV));
			OK(fi_enable(eps[i]));
		}
		CHECK(!pthread_create(&thread, NULL, waits, queue));
		usleep(3000);
		OK(fi_close(&eps[0]->fid));
		OK(fi_close(&avs[0]->fid));
		OK(fi_cq_signal(queue));
		CHECK(!pthread_join(thread, NULL));
		OK(fi_close(&eps[1]->fid));
		OK(fi_close(&avs[1]->fid));
		OK(fi_close(&queue->fid));
	}
}

/* Attributes that mean something only to programs with FI_HMEM are not looked at, and a key goes through its
 * raw form and back (fi_mr(3)). */
static void raw_keys(uint8_t *memory)
{
	struct iovec iov = { memory, 64 };
	struct fi_mr_attr attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_READ,
				   .requested_key = 0x1234567890, .iface = FI_HMEM_CUDA };
	struct fid_mr *mr;
	uint8_t raw[8];
	size_t size = 7;
	uint64_t base = 1, key = 0;

	OK(fi_mr_regattr(domain, &attr, 0, &mr));
	CHECK(fi_mr_raw_attr(mr, &base, raw, &size, 0) == -FI_ETOOSMALL && size == sizeof raw);
	OK(fi_mr_raw_attr(mr, &base, raw, &size, 0));
	CHECK(base == 0 && size == sizeof raw);
	OK(fi_mr_map_raw(domain, base, raw, size, &key, 0));
	CHECK(key == 0x1234567890 && key == fi_mr_key(mr));
	OK(fi_mr_unmap_key(domain, key));
	OK(fi_close(&mr->fid));
}

/* Objects refuse what they would not keep. */
static void objects(void)
{
	struct fi_av_attr av_attr = { .type = FI_AV_UNSPEC };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .flags = FI_PEER };
	struct fi_cntr_attr cntr_attr = { .flags = 1 };
	struct fid_cq *queue = NULL;
	struct fid_cntr *counter = NULL;
	struct fid_ep *fresh;
	struct fid_av *vector;
	struct fid_mr *mr = NULL;
	static uint8_t memory[64];

	hints = pair_hints();
	OK(fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	pair_objects(FI_AV_TABLE, false);
	/* fi_av(3): the type that was chosen is returned. */
	OK(fi_av_open(domain, &av_attr, &vector, NULL));
	CHECK(av_attr.type == FI_AV_TABLE || av_attr.type == FI_AV_MAP);
	OK(fi_close(&vector->fid));
	CHECK(fi_cq_open(domain, &cq_attr, &queue, NULL) == -FI_EBADFLAGS);
	CHECK(fi_cntr_open(domain, &cntr_attr, &counter, NULL) == -FI_EBADFLAGS);
	cntr_attr = (struct fi_cntr_attr){ .events = FI_CNTR_EVENTS_COMP + 1 };
	CHECK(fi_cntr_open(domain, &cntr_attr, &counter, NULL) == -FI_ENOSYS);
	/* fi_endpoint(3): counting remote operations takes FI_RMA_EVENT; each type has one counter. */
	OK(fi_endpoint(domain, info, &fresh, NULL));
	CHECK(fi_ep_bind(fresh, &accessed->fid, FI_REMOTE_WRITE) == -FI_EBADFLAGS);
	CHECK(fi_ep_bind(fresh, &accessed->fid, 0) == -FI_EBADFLAGS);
	OK(fi_ep_bind(fresh, &accessed->fid, FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE));
	OK(fi_ep_bind(fresh, &accessed->fid, FI_SEND));
	OK(fi_cntr_open(domain, NULL, &counter, NULL));
	CHECK(fi_ep_bind(fresh, &counter->fid, FI_SEND | FI_WRITE) == -FI_EINVAL);
	OK(fi_close(&counter->fid));
	CHECK(fi_ep_bind(fresh, &cq->fid, FI_SELECTIVE_COMPLETION) == -FI_EBADFLAGS);
	/* A call that fails has bound nothing: the queue can be closed, and another be bound. */
	cq_attr = (struct fi_cq_attr){ .format = FI_CQ_FORMAT_CONTEXT };
	OK(fi_cq_open(domain, &cq_attr, &queue, NULL));
	OK(fi_ep_bind(fresh, &cq->fid, FI_RECV));
	CHECK(fi_ep_bind(fresh, &queue->fid, FI_TRANSMIT | FI_RECV) == -FI_EINVAL);
	OK(fi_close(&queue->fid));
	OK(fi_ep_bind(fresh, &cq->fid, FI_TRANSMIT));
	OK(fi_close(&fresh->fid));
	/* fi_mr(3): the offset is reserved; no flag is offered. */
	CHECK(fi_mr_reg(domain, memory, 64, FI_REMOTE_READ, 8, 1, 0, &mr, NULL) == -FI_EINVAL);
	CHECK(fi_mr_reg(domain, memory, 64, FI_REMOTE_READ, 0, 1, FI_RMA_EVENT, &mr, NULL) == -FI_EBADFLAGS);
	OK(fi_mr_reg(domain, memory, 64, FI_REMOTE_READ, 0, 1, 0, &mr, NULL));
	OK(fi_mr_bind(mr, &ep->fid, 0));
	CHECK(fi_mr_bind(mr, &accessed->fid, FI_REMOTE_WRITE) == -FI_EINVAL);
	OK(fi_close(&mr->fid));
	raw_keys(memory);
	closes_beside_a_thread_that_waits();
}

/* Flags of calls: what is not kept is refused, and a default applies only where it means something. */
static void flags(void)
{
	static int context;
	static char text[2][8];
	struct iovec iov = { text[0], 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = &context };
	struct fi_msg_tagged tagged = { .msg_iov = &iov, .iov_count = 1, .context = &context };

	CHECK(fi_sendmsg(ep, &msg, FI_FENCE) == -FI_EBADFLAGS);
	CHECK(fi_tsendmsg(ep, &tagged, FI_FENCE) == -FI_EBADFLAGS);
	CHECK(fi_sendmsg(ep, &msg, FI_PEEK) == -FI_EBADFLAGS);
	CHECK(fi_recvmsg(ep, &msg, FI_DELIVERY_COMPLETE) == -FI_EBADFLAGS);
	msg.addr = tagged.addr = FI_ADDR_UNSPEC;
	OK(fi_recvmsg(ep, &msg, FI_TRANSMIT_COMPLETE));
	/* Memory is not looked at where nothing is to be received (fi_tagged(3), FI_DISCARD). */
	tagged.msg_iov = NULL;
	OK(fi_trecvmsg(ep, &tagged, FI_PEEK | FI_DISCARD));
	failed(&context, FI_ENOMSG);
	pair_close_objects();

	/* FI_MULTI_RECV as a default is for untagged receives: a tagged one takes one message and is over. */
	hints = pair_hints();
	hints->rx_attr->op_flags = FI_MULTI_RECV;
	OK(fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	pair_objects(FI_AV_TABLE, false);
	uint8_t address[64];
	size_t len = sizeof address;
	OK(fi_getname(&ep->fid, address, &len));
	CHECK(fi_av_insert(av, address, 1, &other, 0, NULL) == 1);
	OK(fi_trecv(ep, text, sizeof text, NULL, ANY, 1, 0, &context));
	OK(fi_tinject(ep, "one", 4, other, 1));
	CHECK(!(done(&context).flags & FI_MULTI_RECV));
	OK(fi_tinject(ep, "two", 4, other, 1));
	OK(fi_trecv(ep, text[1], sizeof text[1], NULL, ANY, 1, 0, &context));
	done(&context);
	CHECK(!strcmp(text[0], "one") && !strcmp(text[1], "two"));
	pair_close_objects();
}

int main(void)
{
	addresses();
	refusals();
	wishes();
	objects();
	flags();
	return 0;
}
