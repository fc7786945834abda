//! The layout of a receive ring and of its slots, as linux/if_packet.h has them.

use std::ffi::c_int;

/// `TPACKET_V2` of `enum tpacket_versions`.
pub(super) const TPACKET_V2: c_int = 1;
/// `TPACKET_ALIGNMENT`.
pub(super) const ALIGNMENT: usize = 16;
/// The slot belongs to user space (`TP_STATUS_USER`).
pub(super) const STATUS_USER: u32 = 1;
/// The slot belongs to the kernel (`TP_STATUS_KERNEL`).
pub(super) const STATUS_KERNEL: u32 = 0;
/// `tp_vlan_tci` is valid (`TP_STATUS_VLAN_VALID`).
pub(super) const STATUS_VLAN_VALID: u32 = 1 << 4;

/// `struct tpacket_req`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub block_bytes: u32,
    pub blocks: u32,
    pub slot_bytes: u32,
    pub slots: u32,
}

/// `struct tpacket2_hdr`, at the start of each slot.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub status: u32,
    pub length: u32,
    pub captured: u32,
    pub mac_offset: u16,
    pub net_offset: u16,
    pub seconds: u32,
    pub nanoseconds: u32,
    pub vlan_tci: u16,
    pub vlan_tpid: u16,
    padding: [u8; 4],
}

/// Bytes before the frame in a slot: header and link-level address (`TPACKET2_HDRLEN`).
pub(super) const HEADER_BYTES: usize =
    size_of::<Header>().next_multiple_of(ALIGNMENT) + size_of::<libc::sockaddr_ll>();

/// The layout of a ring, as the kernel was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLayout {
    /// Bytes of a slot: a power of two.
    pub slot_bytes: u32,
    /// Slots, one frame each: a power of two.
    pub slots: u32,
}

impl RingLayout {
    /// Bytes of the whole ring; `None` if the numbers are not those of a ring, or overflow.
    pub fn bytes(self) -> Option<usize> {
        let sound = self.slot_bytes.is_power_of_two() && self.slots.is_power_of_two();
        let large_enough = self.slot_bytes as usize > HEADER_BYTES;
        let bytes = self.slot_bytes.checked_mul(self.slots)?;
        (sound && large_enough).then_some(bytes as usize)
    }
}

/// The wanted size of a ring. Its memory is locked in the kernel: `slots` times the slot size that fits the
/// MTU (2 KiB at MTU 1500, 16 KiB at MTU 9000).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Number of frames that should fit; it is rounded up to a power of two.
    pub slots: u32,
}

impl RingSize {
    /// A ring for as many frames of this MTU as fit into this many bytes, but at least for some.
    pub fn within(bytes: u64, mtu: u32) -> Self {
        let slot = Self { slots: 1 }.layout(mtu).map_or(u64::MAX, |request| request.slot_bytes.into());
        let slots = (bytes / slot).max(1);
        // The number of slots is rounded up to a power of two later, so the power of two below is what fits.
        Self { slots: 1 << slots.ilog2().min(24) }
    }

    /// The smallest layout that holds frames of this MTU: power-of-two slots in page-aligned blocks.
    pub(super) fn layout(self, mtu: u32) -> Option<Request> {
        // Room for the Ethernet header with a VLAN tag, and for the alignment of what follows it.
        let needed = HEADER_BYTES + ALIGNMENT + 18 + usize::try_from(mtu).ok()?;
        let slot_bytes = u32::try_from(needed.checked_next_power_of_two()?).ok()?;
        // Blocks are contiguous in physical memory, of which small pieces are easier to get.
        let block_bytes = slot_bytes.max(64 * 1024);
        let slots = self.slots.checked_next_power_of_two()?.max(block_bytes / slot_bytes);
        let bytes = slots.checked_mul(slot_bytes)?;
        Some(Request { block_bytes, blocks: bytes / block_bytes, slot_bytes, slots })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write, process::Command};

    /// Sizes and offsets that the C compiler finds in linux/if_packet.h.
    fn sizes_of_the_kernel_header() -> Option<Vec<usize>> {
        let source = "#include <linux/if_packet.h>\n#include <stddef.h>\n#include <stdio.h>\n#define AT(m) \
                      offsetof(struct tpacket2_hdr, m)\nint main(void) { printf(\"%zu %zu %zu %zu %zu %zu \
                      %zu %zu %zu %zu %d\", sizeof(struct tpacket_req), sizeof(struct tpacket2_hdr), \
                      (size_t)TPACKET2_HDRLEN, AT(tp_status), AT(tp_len), AT(tp_snaplen), AT(tp_mac), \
                      AT(tp_net), AT(tp_vlan_tci), sizeof(struct sockaddr_ll), TPACKET_V2); }";
        let folder = tempfile::tempdir().ok()?;
        let program = folder.path().join("sizes");
        let mut compiler = Command::new("cc")
            .args(["-x", "c", "-", "-o"])
            .arg(&program)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .ok()?;
        compiler.stdin.take()?.write_all(source.as_bytes()).ok()?;
        assert!(compiler.wait().ok()?.success(), "the C compiler refused the program");
        let output = Command::new(program).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        text.split(' ').map(|word| word.parse().ok()).collect()
    }

    #[test]
    fn layouts_are_those_of_the_kernel_header() {
        let Some(sizes) = sizes_of_the_kernel_header() else {
            eprintln!("skipped: no C compiler");
            return;
        };
        let own = [
            size_of::<Request>(),
            size_of::<Header>(),
            HEADER_BYTES,
            std::mem::offset_of!(Header, status),
            std::mem::offset_of!(Header, length),
            std::mem::offset_of!(Header, captured),
            std::mem::offset_of!(Header, mac_offset),
            std::mem::offset_of!(Header, net_offset),
            std::mem::offset_of!(Header, vlan_tci),
            size_of::<libc::sockaddr_ll>(),
            TPACKET_V2 as usize,
        ];
        assert_eq!(sizes, own);
    }

    // packet_set_ring() in net/packet/af_packet.c: blocks are multiples of the page, slots are aligned and
    // larger than the header, and blocks * slots per block is exactly the number of slots.
    #[test]
    fn ring_layouts_obey_the_kernels_rules() {
        for mtu in [68, 1500, 1501, 4000, 9000, 9216, 65535] {
            for slots in [0, 1, 7, 256, 4096] {
                let Some(request) = (RingSize { slots }).layout(mtu) else { panic!("MTU {mtu}: none") };
                assert_eq!(request.block_bytes % 4096, 0, "MTU {mtu}");
                assert_eq!(request.slot_bytes as usize % ALIGNMENT, 0, "MTU {mtu}");
                assert_eq!(request.blocks * (request.block_bytes / request.slot_bytes), request.slots);
                assert!(request.slot_bytes as usize >= HEADER_BYTES + 14 + mtu as usize, "MTU {mtu}");
                assert!(request.slots >= slots, "MTU {mtu}");
            }
        }
        assert!((RingSize { slots: u32::MAX }).layout(1500).is_none());
    }
}
