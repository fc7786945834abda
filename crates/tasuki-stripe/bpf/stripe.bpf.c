// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Striping: plain TCP and UDP to another host of the cluster over all NICs that lead there (the scheme of Fukunaga et al., "NIC
// distribution": the sender picks a NIC per packet and writes the address of the matching NIC of the receiver into it, from a
// table). It runs on the egress of every NIC of the bundle. Routes pick some NIC, as without it; the program picks another one,
// rewrites both MAC addresses and redirects. A packet of TCP is here still a super-frame of up to gso_max_segs frames.
//
// What it does not touch: packets to link addresses (they mean one NIC, as Tasuki's own rails do), sockets bound to a NIC
// (SO_BINDTODEVICE), link-local and group addresses, and all protocols but TCP and UDP. It returns "unspecified" for them and
// for what it has finished with, so that other programs on the same hook still see the packet.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define NULL ((void *)0)
#define SLOTS 32             // rails to one host
#define NICS 32              // NICs of this host
#define FAMILY_INET 2        // AF_INET; the header that defines it is not for eBPF
#define FRESH 1000000000ull  // ns: `tasuki watch` is believed for so long after its last word
#define RECHECK 20000000ull  // ns: the kernel is asked about a slot at most this often
#define SPREAD 100000000ull  // ns: no NIC may be thought to be busy for longer than the freest and this
#define TRIES 4              // NICs that are tried before the packet goes the way of its route
// Preamble, frame check sequence and gap: what a frame takes on the wire beside its bytes (IEEE 802.3).
#define WIRE_OVERHEAD 24
#define WIRE_MINIMUM 84

enum policy { SHORTEST_DELAY, ROUND_ROBIN, BYTE_WEIGHTED, FLOW_HASH };

// All structures: keep in step with `layout.rs`.
struct config {
	__u32 policy;
	__u32 mark;      // tc_index of packets whose NIC is chosen; differs from host to host, as a lab hands packets over whole
	__u32 asks;      // interface index on behalf of which the kernel is asked for ways
	__u32 unused;
};

struct nic {
	__u32 index;  // of the interface
	__u8 mac[ETH_ALEN];
	__u8 unused[2];
	__u64 ps_per_byte;
	__u64 free;  // ns: when all that it was given will be on the wire
};

enum flag { FIXED = 1, KNOWN = 2 };  // the MAC address stands in the cluster file; is known

// One line of the destination table: peer, own NIC -> the NIC at the other end.
struct slot {
	__u32 nic;
	__be32 remote;  // link address of the other end
	__u8 mac[ETH_ALEN];
	__u8 flags;
	__u8 dead;  // says the kernel
	__u64 ps_per_byte;
	__u64 free;     // as of a NIC: the other end, or what lies between, may be slower
	__u64 checked;  // ns
};

struct peer {
	__u32 slots;
	__u32 turn;    // of round robin
	__u32 cursor;  // the slot that is looked at next, if it is dead
	__u32 unused;
	struct slot slot[SLOTS];
};

struct count {
	__u64 packets;
	__u64 frames;
	__u64 bytes;  // as on the wire, without preamble, frame check sequence and gap
	__u64 moved;  // packets that the route had given to another NIC
};

_Static_assert(sizeof(struct config) == 16 && sizeof(struct nic) == 32 && sizeof(struct slot) == 40 &&
		       sizeof(struct peer) == 16 + SLOTS * 40 && sizeof(struct count) == 32,
	       "layout.rs writes and reads these");

enum pass { OTHER, BOUND, ALL_DEAD, PASSES };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
} settings SEC(".maps");

// All NICs in one value: one look-up for all of them.
struct bundle {
	struct nic nic[NICS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bundle);
} nics SEC(".maps");

// Interface index -> number in `nics`.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NICS);
	__type(key, __u32);
	__type(value, __u32);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);  // the loader sets it, here and below
	__type(key, __u32);
	__type(value, struct peer);
} peers SEC(".maps");

// Identity address (network order) -> number in `peers`.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __be32);
	__type(value, __u32);
} identities SEC(".maps");

struct mac {
	__u8 bytes[ETH_ALEN];
	__u8 unused[2];
};

// MAC address of any NIC of a peer -> number in `peers`: IPv6 has no identity addresses.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct mac);
	__type(value, __u32);
} macs SEC(".maps");

// By `tasuki watch`: dead slots of each peer, one bit each; and when it last looked (CLOCK_MONOTONIC).
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} verdicts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} heartbeat SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NICS);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PASSES);
	__type(key, __u32);
	__type(value, __u64);
} passed SEC(".maps");

// A packet, what it takes on the wire, and what is to be known to find its NIC.
struct packet {
	__u64 now;   // ns
	__u64 base;  // least time at which a living slot is free, ns
	__u32 policy;
	__u32 is_v6;
	__u32 frames;
	__u32 bytes;      // of all frames
	__u32 wire;       // with overhead
	__u32 here;       // number of the NIC that it is on
	__u32 dead;       // slots that cannot be used, one bit each
	__u32 by_kernel;  // the watch is silent: the kernel's word on slots counts
};

static __always_inline struct bundle *bundle(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&nics, &zero);
}

static __always_inline int pass(enum pass why)
{
	__u32 key = why;
	__u64 *count = bpf_map_lookup_elem(&passed, &key);

	if (count)
		*count += 1;
	return TC_ACT_UNSPEC;
}

// Time on the wire, ns.
static __always_inline __u64 duration(const struct packet *packet, __u64 ps_per_byte)
{
	return packet->wire * ps_per_byte / 1000;
}

static __always_inline __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

// Of TCP and UDP the length of all headers, and where the packet goes; 0 of what is not striped.
static __always_inline int headers(struct __sk_buff *skb, struct packet *packet, __be32 *to, struct mac *mac)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct tcphdr *tcp;
	__u32 length;
	__u8 protocol;

	if ((void *)(eth + 1) > end)
		return 0;
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end)
			return 0;
		protocol = ip->protocol;
		*to = ip->daddr;
		length = ETH_HLEN + ip->ihl * 4;
	} else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end)
			return 0;
		// Group and link-local addresses mean one NIC.
		if (ip->daddr.s6_addr[0] == 0xff ||
		    (ip->daddr.s6_addr[0] == 0xfe && (ip->daddr.s6_addr[1] & 0xc0) == 0x80))
			return 0;
		protocol = ip->nexthdr;
		packet->is_v6 = 1;
		__builtin_memcpy(mac->bytes, eth->h_dest, ETH_ALEN);
		length = ETH_HLEN + sizeof(*ip);
	} else {
		return 0;
	}
	if (protocol == IPPROTO_UDP)
		return length + 8;
	if (protocol != IPPROTO_TCP)
		return 0;
	tcp = data + length;
	if ((void *)(tcp + 1) > end)
		return length + sizeof(*tcp);
	return length + tcp->doff * 4;
}

static __always_inline void measure(struct __sk_buff *skb, struct packet *packet, __u32 header)
{
	packet->frames = skb->gso_segs;
	if (!packet->frames)
		packet->frames = 1;
	packet->bytes = skb->len + (packet->frames - 1) * header;
	packet->wire = packet->bytes + packet->frames * WIRE_OVERHEAD;
	if (packet->wire < WIRE_MINIMUM)
		packet->wire = WIRE_MINIMUM;
}

static __always_inline int is_bound(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return 0;
	sk = bpf_sk_fullsock(sk);
	return sk && sk->bound_dev_if;
}

// The functions that are not static are verified by themselves, once: with them in one piece the verifier would walk through all
// combinations of living slots.

// The slots that can be used, one bit each. Sets `base`.
__noinline __u32 look(struct peer *peer, struct packet *packet)
{
	struct bundle *all = bundle();
	__u64 base = ~0ull;
	__u32 usable = 0;

	if (!peer || !packet || !all)
		return 0;
	for (__u32 i = 0; i < SLOTS; i++) {
		struct slot *slot = &peer->slot[i];
		__u64 free;

		if (i >= peer->slots)
			break;
		if (packet->dead >> i & 1 || (packet->by_kernel && slot->dead))
			continue;
		// Nobody would ask for the MAC address on behalf of IPv6.
		if (packet->is_v6 && !(slot->flags & KNOWN))
			continue;
		free = later(all->nic[slot->nic % NICS].free, slot->free);
		usable |= 1u << i;
		if (free < base)
			base = free;
	}
	packet->base = base;
	return usable;
}

// The `turn`-th usable slot, counted in circles.
__noinline __u32 nth(__u32 usable, __u32 turn)
{
	__u32 live = 0;

	for (__u32 i = 0; i < SLOTS; i++)
		live += usable >> i & 1;
	if (!live)
		return SLOTS;
	turn %= live;
	for (__u32 i = 0; i < SLOTS; i++) {
		if (!(usable >> i & 1))
			continue;
		if (!turn)
			return i;
		turn--;
	}
	return SLOTS;
}

static __always_inline __u64 weight(const struct slot *slot)
{
	return 1000000000000ull / (slot->ps_per_byte + 1);
}

// A slot by the flow's hash, the faster ones more often.
__noinline __u32 by_hash(struct peer *peer, __u32 usable, __u32 hash)
{
	__u64 total = 0, point;

	if (!peer)
		return SLOTS;
	for (__u32 i = 0; i < SLOTS; i++)
		if (usable >> i & 1)
			total += weight(&peer->slot[i]);
	point = total * (hash >> 16) >> 16;
	for (__u32 i = 0; i < SLOTS; i++) {
		__u64 part = weight(&peer->slot[i]);

		if (!(usable >> i & 1))
			continue;
		if (point < part)
			return i;
		point -= part;
	}
	return nth(usable, 0);
}

// The slot by which the packet will be there first (or, by weight, the one that has least of its part).
__noinline __u32 least(struct peer *peer, struct packet *packet, __u32 usable)
{
	struct bundle *all = bundle();
	__u64 best = ~0ull, since, most;
	__u32 at = SLOTS;

	if (!peer || !packet || !all)
		return SLOTS;
	since = packet->policy == BYTE_WEIGHTED ? packet->base : packet->now;
	// One that was away must not get everything until it has caught up, which after a flood may be long.
	most = later(packet->base, since) + SPREAD;
	for (__u32 i = 0; i < SLOTS; i++) {
		struct slot *slot = &peer->slot[i];
		__u64 free;

		if (!(usable >> i & 1))
			continue;
		free = later(all->nic[slot->nic % NICS].free, slot->free);
		if (free > most)
			free = most;
		free = (later(free, since) + duration(packet, slot->ps_per_byte)) * 2;
		// Of equals the one that needs no redirection.
		free += slot->nic != packet->here;
		if (free < best) {
			best = free;
			at = i;
		}
	}
	return at;
}

// Adds to a clock, which begins anew if it was idle. As long as it is not, nothing that another processor adds at the same time
// is lost: what is would make a full NIC look free until it is idle again.
static __always_inline void advance(__u64 *clock, __u64 since, __u64 by)
{
	if (*clock >= since)
		__sync_fetch_and_add(clock, by);
	else
		*clock = since + by;
}

// Puts a packet on the account of a NIC.
static __always_inline void charge(const struct packet *packet, struct nic *nic, struct slot *slot)
{
	__u64 since = packet->policy == BYTE_WEIGHTED ? packet->base : packet->now;

	advance(&nic->free, since, duration(packet, nic->ps_per_byte));
	if (slot && slot->ps_per_byte > nic->ps_per_byte)
		advance(&slot->free, since, duration(packet, slot->ps_per_byte));
}

static __always_inline void account(const struct packet *packet, __u32 number)
{
	struct count *count = bpf_map_lookup_elem(&counts, &number);

	if (!count)
		return;
	count->packets++;
	count->frames += packet->frames;
	count->bytes += packet->bytes;
	count->moved += number != packet->here;
}

// Asks the kernel whether a slot can be used, and for the MAC address at its other end. Its answer follows the carrier (with
// up to a second's delay), the interface being up, and ARP.
static __always_inline void ask(struct __sk_buff *skb, struct slot *slot, __u32 index, __u32 number, __u32 asks, __u64 now)
{
	struct bpf_fib_lookup way = {};
	struct mac mac = {};
	long answer;

	slot->checked = now;
	way.family = FAMILY_INET;
	way.ifindex = asks;
	way.ipv4_dst = slot->remote;
	answer = bpf_fib_lookup(skb, &way, sizeof(way), 0);
	if (answer != BPF_FIB_LKUP_RET_SUCCESS && answer != BPF_FIB_LKUP_RET_NO_NEIGH) {
		slot->dead = 1;
		return;
	}
	slot->dead = 0;
	// Where several own NICs reach the same one, the route to it has one of them.
	if (slot->flags & FIXED || (answer == BPF_FIB_LKUP_RET_SUCCESS && way.ifindex != index))
		return;
	if (answer == BPF_FIB_LKUP_RET_NO_NEIGH) {
		slot->flags &= ~KNOWN;
		return;
	}
	__builtin_memcpy(mac.bytes, way.dmac, ETH_ALEN);
	__builtin_memcpy(slot->mac, mac.bytes, ETH_ALEN);
	slot->flags |= KNOWN;
	bpf_map_update_elem(&macs, &mac, &number, BPF_ANY);
}

// Has the kernel asked about a slot, where that is due.
static __always_inline void refresh(struct __sk_buff *skb, struct slot *slot, __u32 index, __u32 number, __u32 asks,
				    const struct packet *packet)
{
	if (!packet->by_kernel && slot->flags & FIXED)
		return;
	if (packet->now - slot->checked > RECHECK)
		ask(skb, slot, index, number, asks, packet->now);
}

static __always_inline int send(struct __sk_buff *skb, const struct packet *packet, __u32 mark, const struct slot *slot,
				const struct nic *nic)
{
	struct bpf_redir_neigh next = { .nh_family = FAMILY_INET, .ipv4_nh = slot->remote };
	int is_known = slot->flags & KNOWN;
	__u8 both[2 * ETH_ALEN];

	__builtin_memcpy(both, slot->mac, ETH_ALEN);
	__builtin_memcpy(both + ETH_ALEN, nic->mac, ETH_ALEN);
	if (slot->nic == packet->here) {
		// It may be addressed to another NIC of the peer's on the same switch.
		if (is_known)
			bpf_skb_store_bytes(skb, 0, both, ETH_ALEN, 0);
		return TC_ACT_UNSPEC;
	}
	skb->tc_index = mark;
	if (!is_known)
		return bpf_redirect_neigh(nic->index, &next, sizeof(next), 0);
	if (bpf_skb_store_bytes(skb, 0, both, sizeof(both), 0) < 0)
		return TC_ACT_UNSPEC;
	return bpf_redirect(nic->index, 0);
}

static __always_inline int stripe(struct __sk_buff *skb, const struct config *config, struct packet *packet,
				  struct peer *peer, __u32 number)
{
	__u32 zero = 0, usable, at, turn, *verdict = bpf_map_lookup_elem(&verdicts, &number);
	__u64 *beat = bpf_map_lookup_elem(&heartbeat, &zero);
	struct bundle *all = bundle();
	struct slot *slot;

	if (!all || !beat || !verdict)
		return TC_ACT_UNSPEC;
	packet->by_kernel = packet->now - *beat > FRESH;
	if (!packet->by_kernel) {
		packet->dead = *verdict;
	} else {
		// The dead come back: one of the slots per packet is looked at.
		slot = &peer->slot[peer->cursor++ % SLOTS];
		if (slot->dead)
			refresh(skb, slot, all->nic[slot->nic % NICS].index, number, config->asks, packet);
	}
	turn = packet->policy == ROUND_ROBIN ? peer->turn++ : 0;
	for (int i = 0; i < TRIES; i++) {
		struct nic *nic;

		usable = look(peer, packet);
		if (packet->policy == ROUND_ROBIN)
			at = nth(usable, turn);
		else if (packet->policy == FLOW_HASH)
			at = by_hash(peer, usable, bpf_get_hash_recalc(skb));
		else
			at = least(peer, packet, usable);
		if (at >= SLOTS)
			break;
		slot = &peer->slot[at % SLOTS];
		nic = &all->nic[slot->nic % NICS];
		refresh(skb, slot, nic->index, number, config->asks, packet);
		if (packet->by_kernel && slot->dead)
			continue;
		charge(packet, nic, slot);
		account(packet, slot->nic);
		return send(skb, packet, config->mark, slot, nic);
	}
	return pass(ALL_DEAD);
}

// A packet that stays where it is occupies its NIC all the same.
static __always_inline int stay(const struct packet *packet, enum pass why)
{
	struct bundle *all = bundle();

	if (all && packet->policy != BYTE_WEIGHTED)
		charge(packet, &all->nic[packet->here % NICS], NULL);
	return pass(why);
}

SEC("classifier")
int tasuki_stripe(struct __sk_buff *skb)
{
	__u32 zero = 0, index = skb->ifindex, header, *here, *number;
	struct config *config = bpf_map_lookup_elem(&settings, &zero);
	struct packet packet = {};
	struct mac mac = {};
	struct peer *peer;
	__be32 to = 0;

	here = bpf_map_lookup_elem(&numbers, &index);
	if (!config || !here || skb->tc_index == config->mark)
		return TC_ACT_UNSPEC;
	packet.here = *here;
	packet.policy = config->policy;
	packet.now = bpf_ktime_get_ns();
	header = headers(skb, &packet, &to, &mac);
	measure(skb, &packet, header);
	if (!header)
		return stay(&packet, OTHER);
	number = packet.is_v6 ? bpf_map_lookup_elem(&macs, &mac) : bpf_map_lookup_elem(&identities, &to);
	peer = number ? bpf_map_lookup_elem(&peers, number) : NULL;
	if (!peer)
		return stay(&packet, OTHER);
	if (is_bound(skb))
		return stay(&packet, BOUND);
	return stripe(skb, config, &packet, peer, *number);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
