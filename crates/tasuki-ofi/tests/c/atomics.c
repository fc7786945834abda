/* Atomic operations, by side 0 on memory of side 1: what fi_atomic(3) says of each, computed here in C,
 * beside what happens. Arguments: as of remote.c; "all" or "selective". */
#include "pair.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_eq.h>

enum { KEY = 7, SIZE = 1 << 16, MOST = 4096, TYPES = FI_DOUBLE + 1, OPERATIONS = FI_MSWAP + 1 };

static _Alignas(64) uint8_t window[SIZE];
static _Alignas(64) uint8_t operand[MOST], comparand[MOST], result[MOST], expected[MOST], before[MOST];
static struct fid_mr *mr;
static int contexts[2];
static unsigned random_state = 1;

/* Small numbers, of both signs where the type has them: products fit into 8 bits. */
static int number(void)
{
	random_state = random_state * 1103515245 + 12345;
	return (int)(random_state >> 16) % 10 - 4;
}

#define SWAP_IF(condition)    \
	if (condition)        \
		d[i] = s[i];  \
	break
#define COMMON                                     \
	case FI_MIN:                               \
		SWAP_IF(s[i] < d[i]);              \
	case FI_MAX:                               \
		SWAP_IF(s[i] > d[i]);              \
	case FI_SUM:                               \
		d[i] = d[i] + s[i];                \
		break;                             \
	case FI_PROD:                              \
		d[i] = d[i] * s[i];                \
		break;                             \
	case FI_LOR:                               \
		d[i] = d[i] || s[i];               \
		break;                             \
	case FI_LAND:                              \
		d[i] = d[i] && s[i];               \
		break;                             \
	case FI_LXOR:                              \
		d[i] = (d[i] && !s[i]) || (!d[i] && s[i]); \
		break;                             \
	case FI_ATOMIC_READ:                       \
		break;                             \
	case FI_ATOMIC_WRITE:                      \
		SWAP_IF(true);                     \
	case FI_CSWAP:                             \
		SWAP_IF(c[i] == d[i]);             \
	case FI_CSWAP_NE:                          \
		SWAP_IF(c[i] != d[i]);             \
	case FI_CSWAP_LE:                          \
		SWAP_IF(c[i] <= d[i]);             \
	case FI_CSWAP_LT:                          \
		SWAP_IF(c[i] < d[i]);              \
	case FI_CSWAP_GE:                          \
		SWAP_IF(c[i] >= d[i]);             \
	case FI_CSWAP_GT:                          \
		SWAP_IF(c[i] > d[i]);
#define BITS                                       \
	case FI_BOR:                               \
		d[i] = d[i] | s[i];                \
		break;                             \
	case FI_BAND:                              \
		d[i] = d[i] & s[i];                \
		break;                             \
	case FI_BXOR:                              \
		d[i] = d[i] ^ s[i];                \
		break;                             \
	case FI_MSWAP:                             \
		d[i] = (s[i] & c[i]) | (d[i] & ~c[i]); \
		break;
#define ORACLE(type, name, cases)                                             \
	static void name##_fill(void *at, size_t count)                       \
	{                                                                     \
		for (size_t i = 0; i < count; i++)                            \
			((type *)at)[i] = (type)number();                     \
	}                                                                     \
	static void name##_operate(int op, size_t count)                      \
	{                                                                     \
		type *d = (type *)expected;                                   \
		const type *s = (type *)operand, *c = (type *)comparand;      \
		for (size_t i = 0; i < count; i++)                            \
			switch (op) {                                         \
				cases default : CHECK(!"an operation of the test"); \
			}                                                     \
	}
ORACLE(int8_t, i8, COMMON BITS)
ORACLE(uint8_t, u8, COMMON BITS)
ORACLE(int16_t, i16, COMMON BITS)
ORACLE(uint16_t, u16, COMMON BITS)
ORACLE(int32_t, i32, COMMON BITS)
ORACLE(uint32_t, u32, COMMON BITS)
ORACLE(int64_t, i64, COMMON BITS)
ORACLE(uint64_t, u64, COMMON BITS)
ORACLE(float, f32, COMMON)
ORACLE(double, f64, COMMON)

static const struct {
	size_t size;
	void (*fill)(void *at, size_t count);
	void (*operate)(int op, size_t count);
} types[TYPES] = {
	[FI_INT8] = { 1, i8_fill, i8_operate },     [FI_UINT8] = { 1, u8_fill, u8_operate },
	[FI_INT16] = { 2, i16_fill, i16_operate },  [FI_UINT16] = { 2, u16_fill, u16_operate },
	[FI_INT32] = { 4, i32_fill, i32_operate },  [FI_UINT32] = { 4, u32_fill, u32_operate },
	[FI_INT64] = { 8, i64_fill, i64_operate },  [FI_UINT64] = { 8, u64_fill, u64_operate },
	[FI_FLOAT] = { 4, f32_fill, f32_operate },  [FI_DOUBLE] = { 8, f64_fill, f64_operate },
};

/* Which operations there must be: fi_atomic(3). */
static bool defined(uint64_t kind, int type, int op)
{
	bool bits = op == FI_BOR || op == FI_BAND || op == FI_BXOR || op == FI_MSWAP;
	bool compares = op >= FI_CSWAP, reads = op == FI_ATOMIC_READ;

	if (bits && type >= FI_FLOAT)
		return false;
	return kind == FI_COMPARE_ATOMIC ? compares : !compares && (!reads || kind == FI_FETCH_ATOMIC);
}

static size_t most(uint64_t kind, int type, int op)
{
	struct fi_atomic_attr attr = { 0 };
	size_t count = 0;
	int valid = kind == FI_COMPARE_ATOMIC ? fi_compare_atomicvalid(ep, type, op, &count) :
		    kind == FI_FETCH_ATOMIC   ? fi_fetch_atomicvalid(ep, type, op, &count) :
						fi_atomicvalid(ep, type, op, &count);

	CHECK(valid == (defined(kind, type, op) ? 0 : -FI_EOPNOTSUPP));
	CHECK(fi_query_atomic(domain, type, op, &attr, kind) == valid && attr.count == count);
	CHECK(valid || (attr.size == types[type].size && count * attr.size <= MOST && count >= 8));
	return valid ? 0 : count;
}

static void put(const void *bytes, size_t len, uint64_t at)
{
	OK(fi_write(ep, bytes, len, NULL, other, at, KEY, &contexts[0]));
	done(&contexts[0]);
}

static void get(void *bytes, size_t len, uint64_t at)
{
	OK(fi_read(ep, bytes, len, NULL, other, at, KEY, &contexts[0]));
	done(&contexts[0]);
}

static void completes(uint64_t direction)
{
	CHECK((done(&contexts[1]).flags & (FI_ATOMIC | FI_RMA | FI_READ | FI_WRITE)) == (FI_ATOMIC | direction));
}

/* One operation on `count` elements at 64, which must change nothing before and behind them. */
static void operate(uint64_t kind, int type, int op, size_t count)
{
	size_t size = types[type].size, len = count * size;
	static uint8_t around[MOST + 128], after[MOST + 128];

	types[type].fill(operand, count);
	types[type].fill(comparand, count);
	types[type].fill(before, count);
	memset(around, 0xee, sizeof around);
	memcpy(around + 64, before, len);
	memcpy(expected, before, len);
	types[type].operate(op, count);
	put(around, len + 128, 0);
	memset(result, 0xdd, sizeof result);
	if (kind == FI_COMPARE_ATOMIC)
		OK(fi_compare_atomic(ep, operand, count, NULL, comparand, NULL, result, NULL, other, 64, KEY,
				     type, op, &contexts[1]));
	else if (kind == FI_FETCH_ATOMIC)
		OK(fi_fetch_atomic(ep, op == FI_ATOMIC_READ ? NULL : operand, count, NULL, result, NULL, other,
				   64, KEY, type, op, &contexts[1]));
	else
		OK(fi_atomic(ep, operand, count, NULL, other, 64, KEY, type, op, &contexts[1]));
	completes(kind ? FI_READ : FI_WRITE);
	get(after, len + 128, 0);
	memcpy(around + 64, expected, len);
	CHECK(!memcmp(after, around, len + 128));
	CHECK(!kind || !memcmp(result, before, len));
	CHECK(len == MOST || result[len] == 0xdd);
}

static void all(void)
{
	static const uint64_t kinds[] = { 0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC };
	static const uint8_t over = 1;
	const volatile uint8_t *told = &window[SIZE - 1];

	/* Thousands of operations: left to the helper thread alone, they would take minutes on a busy machine. */
	while (me == 1 && !*told)
		CHECK(fi_cq_read(cq, NULL, 0) == -FI_EAGAIN || *told);
	for (unsigned i = 0; me == 0 && i < LEN(kinds); i++)
		for (int type = 0; type < TYPES; type++)
			for (int op = 0; op < OPERATIONS; op++) {
				size_t count = most(kinds[i], type, op);

				if (count) {
					operate(kinds[i], type, op, 7);
					operate(kinds[i], type, op, count);
				}
			}
	if (me == 0)
		put(&over, 1, SIZE - 1);
	meet();
}

/* Pieces that are cut differently here, for the results, and there. */
static void in_pieces(void)
{
	uint32_t *operands = (uint32_t *)operand, *former = (uint32_t *)result, *now = (uint32_t *)expected;
	struct fi_ioc iov[] = { { operands, 1 }, { operands + 1, 5 }, { operands + 6, 4 } };
	struct fi_ioc into[] = { { former + 7, 3 }, { former, 7 } };
	struct fi_ioc with[] = { { comparand, 10 } };
	struct fi_rma_ioc there[] = { { 400, 2, KEY }, { 100, 8, KEY } };
	struct fi_msg_atomic msg = { .msg_iov = iov, .iov_count = 3, .addr = other, .rma_iov = there,
				     .rma_iov_count = 2, .datatype = FI_UINT32, .op = FI_SUM,
				     .context = &contexts[1] };

	if (me == 0) {
		memset(operand, 0, 4096);
		put(operand, 4096, 0);
		for (unsigned i = 0; i < 10; i++)
			operands[i] = i + 1;
		OK(fi_atomicmsg(ep, &msg, FI_COMPLETION));
		completes(FI_WRITE);
		OK(fi_fetch_atomicmsg(ep, &msg, into, NULL, 2, FI_COMPLETION));
		completes(FI_READ);
		for (unsigned i = 0; i < 10; i++)
			CHECK(former[(i + 7) % 10] == i + 1);
		memcpy(comparand, operands, 40);
		for (unsigned i = 0; i < 10; i++)
			((uint32_t *)comparand)[i] *= i % 2 ? 2 : 3;
		msg.op = FI_CSWAP;
		OK(fi_compare_atomicmsg(ep, &msg, with, NULL, 1, into, NULL, 2, FI_COMPLETION));
		completes(FI_READ);
		get(now, 8, 400);
		get(now + 2, 32, 100);
		for (unsigned i = 0; i < 10; i++)
			CHECK(former[(i + 7) % 10] == 2 * (i + 1) && now[i] == (i + 1) * (i % 2 ? 1 : 2));
		OK(fi_atomicv(ep, iov, NULL, 3, other, 100, KEY, FI_UINT32, FI_ATOMIC_WRITE, &contexts[1]));
		completes(FI_WRITE);
		OK(fi_fetch_atomicv(ep, NULL, NULL, 0, into, NULL, 2, other, 100, KEY, FI_UINT32,
				    FI_ATOMIC_READ, &contexts[1]));
		completes(FI_READ);
		for (unsigned i = 0; i < 10; i++)
			CHECK(former[(i + 7) % 10] == i + 1);
		OK(fi_compare_atomicv(ep, iov, NULL, 3, iov, NULL, 3, into, NULL, 2, other, 100, KEY, FI_UINT32,
				      FI_CSWAP_NE, &contexts[1]));
		completes(FI_READ);
		/* Injected: without a completion, counted. */
		uint64_t counted = fi_cntr_read(accessed);
		OK(fi_inject_atomic(ep, operand, 10, other, 100, KEY, FI_UINT32, FI_SUM));
		memset(operand, 0, 40);
		OK(fi_cntr_wait(accessed, counted + 1, -1));
		nothing();
		get(now, 40, 100);
		for (unsigned i = 0; i < 10; i++)
			CHECK(now[i] == 2 * (i + 1));
	}
	meet();
}

/* What cannot be done is refused, and changes nothing. */
static void refused(void)
{
	struct fi_ioc iov = { operand, 1 };
	struct fi_rma_ioc there = { 0, 1, KEY };
	struct fi_msg_atomic msg = { .msg_iov = &iov, .iov_count = 1, .addr = other, .rma_iov = &there,
				     .rma_iov_count = 1, .datatype = FI_UINT64, .op = FI_SUM,
				     .context = &contexts[1] };
	struct fi_atomic_attr attr;

	if (me == 0) {
		memset(window, 0xab, 4096);
		put(window, 4096, 0);
		static const struct { uint64_t at, key; int err; } wrong[] = {
			{ 0, KEY + 1, FI_EACCES }, { SIZE - 7, KEY, FI_EACCES }, { 4, KEY, FI_EINVAL },
			{ 0, KEY + 2, FI_EACCES },
		};
		for (unsigned i = 0; i < LEN(wrong); i++) {
			OK(fi_atomic(ep, operand, 1, NULL, other, wrong[i].at, wrong[i].key, FI_UINT64, FI_SUM,
				     &contexts[1]));
			failed(&contexts[1], wrong[i].err);
			OK(fi_fetch_atomic(ep, operand, 1, NULL, result, NULL, other, wrong[i].at, wrong[i].key,
					   FI_UINT64, FI_SUM, &contexts[1]));
			failed(&contexts[1], wrong[i].err);
		}
		/* The region may be read: KEY + 2. */
		OK(fi_fetch_atomic(ep, NULL, 1, NULL, result, NULL, other, 0, KEY + 2, FI_UINT64, FI_ATOMIC_READ,
				   &contexts[1]));
		completes(FI_READ);
		CHECK(fi_atomic(ep, operand, 513, NULL, other, 0, KEY, FI_UINT64, FI_SUM, NULL) == -FI_EMSGSIZE);
		CHECK(fi_atomic(ep, operand, 0, NULL, other, 0, KEY, FI_UINT64, FI_SUM, NULL) == -FI_EINVAL);
		CHECK(fi_atomic(ep, NULL, 1, NULL, other, 0, KEY, FI_UINT64, FI_SUM, NULL) == -FI_EINVAL);
		CHECK(fi_atomic(ep, operand, 1, NULL, other, 0, KEY, FI_DOUBLE, FI_BOR, NULL) == -FI_EOPNOTSUPP);
		CHECK(fi_atomic(ep, operand, 1, NULL, other, 0, KEY, FI_LONG_DOUBLE, FI_SUM, NULL) ==
		      -FI_EOPNOTSUPP);
		CHECK(fi_atomicmsg(ep, &msg, FI_FENCE) == -FI_EBADFLAGS);
		CHECK(fi_atomicmsg(ep, &msg, FI_REMOTE_CQ_DATA) == -FI_EBADFLAGS);
		there.count = 2;
		CHECK(fi_atomicmsg(ep, &msg, FI_COMPLETION) == -FI_EINVAL);
		CHECK(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, FI_TAGGED) == -FI_EOPNOTSUPP);
		get(result, 4096, 0);
		CHECK(!memcmp(result, window, 4096));
	}
	meet();
}

/* Both sides add to one number while its owner's own instructions do, too; nobody gets a value twice. */
static void contention(void)
{
	enum { TIMES = 2000, AT = 8192 };
	static uint64_t values[TIMES];
	static uint8_t seen[4 * TIMES];
	uint64_t one = 1, *shared = (uint64_t *)(window + AT);
	fi_addr_t owner = me == 0 ? other : own;

	meet();
	for (unsigned i = 0; i < TIMES; i++) {
		OK(fi_fetch_atomic(ep, &one, 1, NULL, &values[i], NULL, owner, AT, KEY, FI_UINT64, FI_SUM,
				   &contexts[1]));
		if (me == 1)
			__atomic_fetch_add(shared, 1, __ATOMIC_RELAXED);
		completes(FI_READ);
		CHECK(i == 0 || values[i] > values[i - 1]);
	}
	meet();
	if (me == 1)
		CHECK(*shared == 3 * TIMES);
	for (unsigned i = 0; me == 0 && i < TIMES; i++)
		tell((int)values[i]);
	for (unsigned i = 0; me == 1 && i < TIMES; i++) {
		int theirs = hear();

		CHECK(theirs < 3 * TIMES && !seen[theirs]++ && values[i] < 3 * TIMES && !seen[values[i]]++);
	}
	meet();
}

int main(int argc, char **argv)
{
	struct fid_mr *readable;

	CHECK(argc == 3);
	pair_fork();
	/* A limit for hangs alone. */
	alarm(1200);
	pair_open(strcmp(argv[1], "map") ? FI_AV_TABLE : FI_AV_MAP, !strcmp(argv[2], "selective"));
	CHECK(info->caps & FI_ATOMIC);
	OK(fi_mr_reg(domain, window, SIZE, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	OK(fi_mr_reg(domain, window, SIZE, FI_REMOTE_READ, 0, KEY + 2, 0, &readable, NULL));
	meet();
	all();
	in_pieces();
	refused();
	contention();
	OK(fi_close(&readable->fid));
	OK(fi_close(&mr->fid));
	pair_close();
	return 0;
}
