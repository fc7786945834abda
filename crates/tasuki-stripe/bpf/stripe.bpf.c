// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Striping: plain TCP and UDP to another host of the cluster over all NICs that lead there (the scheme of
// Fukunaga et al., "NIC distribution": the sender picks a NIC per packet and writes the address of the
// matching NIC of the receiver into it, from a table). It runs on the egress of every NIC of the bundle. The
// kernel's routes pick a NIC, as without striping; the program picks another one, rewrites both MAC addresses
// and redirects. At this point a packet of TCP is still a super-frame of up to gso_max_segs frames.
//
// What it does not touch: packets to link addresses (they mean one NIC, as Tasuki's own rails do), sockets
// bound to a NIC (SO_BINDTODEVICE), link-local and group addresses, and all protocols but TCP and UDP. It
// returns "unspecified" for them and for what it has finished with, so that other programs on the same hook
// still see the packet.

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
#define FRESH 1000000000ull  // ns: `tasuki watch` is believed for so long after it last wrote
#define RECHECK 20000000ull  // ns: the kernel is asked about a slot at most this often
#define SPREAD 100000000ull  // ns: a NIC counts as busy for at most so much longer than the freest NIC
#define TRIES 4              // NICs that are tried before the packet goes as the kernel's route says
// Preamble, frame check sequence and gap: what a frame takes on the wire beside its bytes (IEEE 802.3).
#define WIRE_OVERHEAD 24
#define WIRE_MINIMUM 84

enum policy { SHORTEST_DELAY, ROUND_ROBIN, BYTE_WEIGHTED, FLOW_HASH };

// The layouts of all these structures must be those of `layout.rs`.
struct config {
	__u32 policy;
	// tc_index of packets whose NIC is chosen; it differs from host to host, because a lab hands packets over
	// whole
	__u32 mark;
	__u32 asks;      // interface index on behalf of which the kernel is asked for routes
	__u32 unused;
};

struct nic {
	__u32 index;  // of the interface
	__u8 mac[ETH_ALEN];
	__u8 unused[2];
	__u64 ps_per_byte;
	__u64 free;  // ns: when all packets that it was given will be on the wire
};

// Flags of a slot: its MAC address stands in the cluster file (FIXED), or is known (KNOWN).
enum flag { FIXED = 1, KNOWN = 2 };

// One line of the destination table: for a peer and a NIC of this host, the NIC at the other end.
struct slot {
	__u32 nic;
	__be32 remote;  // link address of the other end
	__u8 mac[ETH_ALEN];
	__u8 flags;
	__u8 dead;  // as the kernel says
	__u64 ps_per_byte;
	__u64 free;     // ns: as that of a NIC; the other end, or what lies between, may be slower than the NIC
	__u64 checked;  // ns: when the kernel was last asked about the slot
};

struct peer {
	__u32 slots;
	__u32 turn;    // of round robin
	__u32 cursor;  // the slot that is checked next, if it is dead
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

// All NICs are one value of a map, so that one look-up finds all of them.
struct bundle {
	struct nic nic[NICS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bundle);
} nics SEC(".maps");

// By interface index: the NIC's number in `nics`.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NICS);
	__type(key, __u32);
	__type(value, __u32);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);  // the loader sets it, as in the maps below
	__type(key, __u32);
	__type(value, struct peer);
} peers SEC(".maps");

// By identity address (network order): the peer's number in `peers`.
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

// By MAC address of any NIC of a peer: the peer's number in `peers`. It serves IPv6, which has no identity
// addresses. (A table that forgets what was used least recently would not do: before Linux commit
// d4adf1c9ee77 so small a one forgets addresses that are in use.)
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct mac);
	__type(value, __u32);
} macs SEC(".maps");

// Written by `tasuki watch`: the dead slots of each peer, one bit each; and when it last looked
// (CLOCK_MONOTONIC).
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

// A packet, what it takes on the wire, and what its NIC is found by.
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
	__u32 by_kernel;  // the watch is silent, so that the kernel says which slots are dead
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

// Time that so many bytes take on the wire, ns.
static __always_inline __u64 duration(const struct packet *packet, __u64 ps_per_byte)
{
	return packet->wire * ps_per_byte / 1000;
}

static __always_inline __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

// The length of all headers of a packet of TCP or UDP, and where it goes; 0 for a packet that is not striped.
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
		// Packets to group and link-local addresses are meant for one NIC.
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

// Functions that are not static are verified by themselves, once each. If all were one piece, the verifier
// would walk through all combinations of living slots.

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
		// With IPv6 a slot's MAC address must be known already: nothing would ask for it.
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

// A slot by the flow's hash, faster slots more often.
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

// The slot by which the packet will arrive first or, by weight, the slot that has carried least of its share.
__noinline __u32 least(struct peer *peer, struct packet *packet, __u32 usable)
{
	struct bundle *all = bundle();
	__u64 best = ~0ull, since, most;
	__u32 at = SLOTS;

	if (!peer || !packet || !all)
		return SLOTS;
	since = packet->policy == BYTE_WEIGHTED ? packet->base : packet->now;
	// A slot that was dead must not get all packets until it has caught up, which after a flood may take
	// long.
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
		// Among equals the slot is taken that needs no redirection.
		free += slot->nic != packet->here;
		if (free < best) {
			best = free;
			at = i;
		}
	}
	return at;
}

// Adds to a clock, which begins anew if it was idle. While it is not idle, what another processor adds at the
// same time is not lost: a loss would make a full NIC look free until it is idle again.
static __always_inline void advance(__u64 *clock, __u64 since, __u64 by)
{
	if (*clock >= since)
		__sync_fetch_and_add(clock, by);
	else
		*clock = since + by;
}

// Adds a packet to what a NIC has been given.
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

// Notes the MAC address at a slot's other end. That of a NIC that was exchanged is forgotten, or the table
// would fill up. Returns 0.
__noinline int learn(struct slot *slot, struct mac *found, __u32 number)
{
	struct mac old = {}, mac = {};
	__u32 *known, peer = number;
	__u8 differs = 0;

	if (!slot || !found)
		return 0;
	for (int i = 0; i < ETH_ALEN; i++) {
		old.bytes[i] = slot->mac[i];
		mac.bytes[i] = found->bytes[i];
		differs |= old.bytes[i] ^ mac.bytes[i];
	}
	if (differs) {
		known = bpf_map_lookup_elem(&macs, &old);
		// The NIC may be in another host by now.
		if (known && *known == peer)
			bpf_map_delete_elem(&macs, &old);
	}
	__builtin_memcpy(slot->mac, mac.bytes, ETH_ALEN);
	slot->flags |= KNOWN;
	known = bpf_map_lookup_elem(&macs, &mac);
	if (!known || *known != peer)
		bpf_map_update_elem(&macs, &mac, &peer, BPF_ANY);
	return 0;
}

// Asks the kernel whether a slot can be used, and for the MAC address at its other end. The answer follows
// from the carrier (up to a second late), from whether the interface is up, and from ARP.
static __always_inline void ask(struct __sk_buff *skb, struct slot *slot, __u32 index, __u32 number,
				__u32 asks, __u64 now)
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
	// Where several NICs of this host reach the same NIC, the kernel's route to it names one of them.
	if (slot->flags & FIXED || (answer == BPF_FIB_LKUP_RET_SUCCESS && way.ifindex != index))
		return;
	if (answer == BPF_FIB_LKUP_RET_NO_NEIGH) {
		slot->flags &= ~KNOWN;
		return;
	}
	__builtin_memcpy(mac.bytes, way.dmac, ETH_ALEN);
	learn(slot, &mac, number);
}

// Asks the kernel about a slot, if that is due.
static __always_inline void refresh(struct __sk_buff *skb, struct slot *slot, __u32 index, __u32 number,
				    __u32 asks, const struct packet *packet)
{
	if (!packet->by_kernel && slot->flags & FIXED)
		return;
	if (packet->now - slot->checked > RECHECK)
		ask(skb, slot, index, number, asks, packet->now);
}

static __always_inline int send(struct __sk_buff *skb, const struct packet *packet, __u32 mark,
				const struct slot *slot, const struct nic *nic)
{
	struct bpf_redir_neigh next = { .nh_family = FAMILY_INET, .ipv4_nh = slot->remote };
	int is_known = slot->flags & KNOWN;
	__u8 both[2 * ETH_ALEN];

	__builtin_memcpy(both, slot->mac, ETH_ALEN);
	__builtin_memcpy(both + ETH_ALEN, nic->mac, ETH_ALEN);
	if (slot->nic == packet->here) {
		// The packet may be addressed to another NIC of the peer on the same switch.
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
		// Dead slots may live again: with every packet one of them is checked.
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

// A packet that is not redirected occupies its NIC like any other.
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
