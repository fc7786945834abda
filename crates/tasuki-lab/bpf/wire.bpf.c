// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A cable of the lab. It runs on the ingress of both wire ports: what comes in at one port leaves at the
// other, through that port's token bucket, unless a fault takes it. Redirecting below the bridge layer keeps
// every frame as it is, link-local ones (LLDP, spanning tree) included, as a cable does.
//
// Faults are drawn from a hash of (seed, frame number), not from the kernel's random numbers: the n-th frame
// through a port after a fault was planted meets the same fate in every run.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

// Keep in step with `faults.rs`, which writes it as an array of __u32.
struct port {
	__u32 redirect;  // interface index of the other wire port
	__u32 cut;       // not 0: nothing passes
	__u32 seed;
	__u32 loss;      // likelihoods in units of 2^-32
	__u32 duplicate;
	__u32 corrupt;
	__u32 first;  // frame number (modulo 2^32) at which the rule came into force
};

// Keep in step with `faults.rs`, which reads it as an array of __u64.
struct counters {
	__u64 frames;  // came in
	__u64 bytes;   // without preamble, frame check sequence and gap
	__u64 dropped;
	__u64 duplicated;
	__u64 corrupted;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);  // the loader sets it
	__type(key, __u32);
	__type(value, struct port);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counts SEC(".maps");

enum salt { SALT_LOSS = 1, SALT_DUPLICATE, SALT_CORRUPT, SALT_OFFSET };

// The finaliser of MurmurHash3: every input bit reaches every output bit.
static __always_inline __u32 draw(__u32 seed, __u32 frame, __u32 salt)
{
	__u64 h = ((__u64)seed << 32 | salt) ^ (frame * 0x9e3779b97f4a7c15ull);

	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	h ^= h >> 33;
	return (__u32)h;
}

// Flips one byte behind the Ethernet header.
static __always_inline void corrupt(struct __sk_buff *skb, __u32 random)
{
	__u32 offset;
	__u8 byte;

	if (skb->len <= ETH_HLEN)
		return;
	offset = ETH_HLEN + random % (skb->len - ETH_HLEN);
	if (bpf_skb_load_bytes(skb, offset, &byte, 1) < 0)
		return;
	byte = ~byte;
	bpf_skb_store_bytes(skb, offset, &byte, 1, 0);
}

SEC("classifier")
int wire(struct __sk_buff *skb)
{
	__u32 key = skb->ifindex;
	struct port *port = bpf_map_lookup_elem(&ports, &key);
	struct counters *count = bpf_map_lookup_elem(&counts, &key);
	__u32 frame;

	if (!port || !count)
		return TC_ACT_SHOT;
	frame = (__u32)__sync_fetch_and_add(&count->frames, 1) - port->first;
	__sync_fetch_and_add(&count->bytes, skb->len);

	if (port->cut || (port->loss && draw(port->seed, frame, SALT_LOSS) < port->loss)) {
		__sync_fetch_and_add(&count->dropped, 1);
		return TC_ACT_SHOT;
	}
	if (port->duplicate && draw(port->seed, frame, SALT_DUPLICATE) < port->duplicate) {
		__sync_fetch_and_add(&count->duplicated, 1);
		bpf_clone_redirect(skb, port->redirect, 0);
	}
	if (port->corrupt && draw(port->seed, frame, SALT_CORRUPT) < port->corrupt) {
		__sync_fetch_and_add(&count->corrupted, 1);
		corrupt(skb, draw(port->seed, frame, SALT_OFFSET));
	}
	return bpf_redirect(port->redirect, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
