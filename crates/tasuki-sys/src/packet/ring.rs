//! The receive ring of a packet socket: mapping it, its slots, and handing them back.

use super::{PacketError, PacketSocket, get_option, set_option, wait_for};
use nix::poll::PollFlags;
use std::{
    ffi::c_int,
    io,
    ops::Deref,
    os::fd::{AsFd, AsRawFd},
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// `TPACKET_V2` of `enum tpacket_versions`.
const TPACKET_V2: c_int = 1;
/// `TPACKET_ALIGNMENT`.
const ALIGNMENT: usize = 16;
/// The slot belongs to user space (`TP_STATUS_USER`).
const STATUS_USER: u32 = 1;
/// The slot belongs to the kernel (`TP_STATUS_KERNEL`).
const STATUS_KERNEL: u32 = 0;
/// `tp_vlan_tci` is valid (`TP_STATUS_VLAN_VALID`).
const STATUS_VLAN_VALID: u32 = 1 << 4;

/// `struct tpacket_req`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Request {
    block_bytes: u32,
    blocks: u32,
    slot_bytes: u32,
    slots: u32,
}

/// `struct tpacket2_hdr`, at the start of each slot.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Header {
    status: u32,
    length: u32,
    captured: u32,
    mac_offset: u16,
    net_offset: u16,
    seconds: u32,
    nanoseconds: u32,
    vlan_tci: u16,
    vlan_tpid: u16,
    padding: [u8; 4],
}

/// Bytes before the frame in a slot: header and link-level address (`TPACKET2_HDRLEN`).
const HEADER_BYTES: usize = size_of::<Header>().next_multiple_of(ALIGNMENT) + size_of::<libc::sockaddr_ll>();

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
    fn layout(self, mtu: u32) -> Option<Request> {
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

/// The addressee of a frame (`sll_pkttype`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// To this interface.
    Host,
    /// To everyone.
    Broadcast,
    /// To a group.
    Multicast,
    /// Another host (in promiscuous mode).
    OtherHost,
    /// Anything else, e.g. a frame that this host sent.
    Other(u8),
}

impl PacketKind {
    fn from_raw(kind: u8) -> Self {
        match kind {
            libc::PACKET_HOST => Self::Host,
            libc::PACKET_BROADCAST => Self::Broadcast,
            libc::PACKET_MULTICAST => Self::Multicast,
            libc::PACKET_OTHERHOST => Self::OtherHost,
            other => Self::Other(other),
        }
    }
}

/// A packet socket with its mapped receive ring. Frames come in order. When as many frames wait as the ring
/// has slots, it is full and the kernel drops further ones.
pub struct PacketRing {
    socket: PacketSocket,
    memory: NonNull<u8>,
    layout: RingLayout,
    next: u32,
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread; the kernel's side is
// synchronised through the status words.
unsafe impl Send for PacketRing {}

impl PacketRing {
    pub(super) fn map(socket: PacketSocket, layout: RingLayout) -> Result<Self, PacketError> {
        let unsound = || socket.error("lay out the ring", io::Error::from_raw_os_error(libc::EOVERFLOW));
        let bytes = layout.bytes().ok_or_else(unsound)?;
        // The kernel refuses any length but the ring's own.
        let memory =
            map_memory(&socket, bytes).map_err(|source| socket.error("map the receive ring", source))?;
        Ok(Self { socket, memory, layout, next: 0 })
    }

    /// Unmaps the ring and gives the socket back.
    pub fn into_socket(self) -> PacketSocket {
        let ring = std::mem::ManuallyDrop::new(self);
        // SAFETY: memory and length are those of the mapping made in `map`, and `ring` is used no more.
        unsafe { libc::munmap(ring.memory.as_ptr().cast(), ring.bytes()) };
        // SAFETY: `ring` is never dropped, so the caller becomes the socket's only owner.
        unsafe { std::ptr::read(&raw const ring.socket) }
    }

    /// The layout of the ring.
    pub fn layout(&self) -> RingLayout {
        self.layout
    }

    /// The socket, for sending and for its statistics.
    pub fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// Frames that fit into the ring.
    pub fn slots(&self) -> u32 {
        self.layout.slots
    }

    /// The next frame, if one has arrived. Dropping it gives its slot back to the kernel. Never blocks.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        let slot = self.slot();
        if self.is_ready(slot) { Some(Frame::new(self, slot)) } else { None }
    }

    /// Whether a frame has arrived.
    pub fn has_frame(&self) -> bool {
        self.is_ready(self.slot())
    }

    fn slot(&self) -> NonNull<u8> {
        let offset = self.next as usize * self.layout.slot_bytes as usize;
        // SAFETY: next < slots, so the slot lies inside of the mapping, which lives as long as self.
        unsafe { self.memory.add(offset) }
    }

    /// Whether the kernel has handed a slot of the mapping over.
    fn is_ready(&self, slot: NonNull<u8>) -> bool {
        // SAFETY: the status word is the first of the slot, 4-aligned, and is accessed atomically only.
        let status = unsafe { AtomicU32::from_ptr(slot.cast().as_ptr()) };
        // Acquire: what the kernel wrote before it handed the slot over is visible after this.
        status.load(Ordering::Acquire) & STATUS_USER != 0
    }

    /// Bytes of memory that the ring takes in the kernel.
    pub fn memory_bytes(&self) -> usize {
        self.bytes()
    }

    /// Waits until a frame has arrived or `limit` has passed. True if a frame may have arrived.
    pub fn wait(&self, limit: Duration) -> io::Result<bool> {
        wait_for(self.socket.as_fd(), PollFlags::POLLIN, limit)
    }

    fn bytes(&self) -> usize {
        self.layout.slots as usize * self.layout.slot_bytes as usize
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: memory and length are those of the mapping made in `map`; no Frame outlives self.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes()) };
    }
}

/// Has the kernel make a ring for the socket.
pub(super) fn make(socket: &PacketSocket, size: RingSize) -> Result<RingLayout, PacketError> {
    let fail = |request, source| socket.error(request, source);
    set_option(&socket.socket, libc::PACKET_VERSION, &TPACKET_V2)
        .map_err(|source| fail("choose TPACKET_V2", source))?;
    let mut header = [TPACKET_V2.cast_unsigned()];
    get_option(&socket.socket, libc::PACKET_HDRLEN, &mut header)
        .map_err(|source| fail("ask for the header's size", source))?;
    if header[0] as usize != size_of::<Header>() {
        return Err(fail("compare the header's size", io::Error::from_raw_os_error(libc::EPROTO)));
    }
    let request = size.layout(socket.interface.mtu);
    let request =
        request.ok_or_else(|| fail("lay out the ring", io::Error::from_raw_os_error(libc::EOVERFLOW)))?;
    set_option(&socket.socket, libc::PACKET_RX_RING, &request)
        .map_err(|source| fail("make the receive ring", source))?;
    Ok(RingLayout { slot_bytes: request.slot_bytes, slots: request.slots })
}

/// Has the kernel free the socket's ring.
pub(super) fn free(socket: &PacketSocket) -> Result<(), PacketError> {
    let none = Request { block_bytes: 0, blocks: 0, slot_bytes: 0, slots: 0 };
    set_option(&socket.socket, libc::PACKET_RX_RING, &none)
        .map_err(|source| socket.error("free the receive ring", source))
}

fn map_memory(socket: &PacketSocket, bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = socket.socket.as_raw_fd();
    // SAFETY: a new shared mapping at an address of the kernel's choice, of the size that the ring was made
    // with; MAP_POPULATE so that no page fault meets a frame.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            protection,
            libc::MAP_SHARED | libc::MAP_POPULATE,
            descriptor,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))
}

/// A received frame in its slot: its bytes from the Ethernet header on, without a VLAN tag.
pub struct Frame<'a> {
    ring: &'a mut PacketRing,
    slot: NonNull<u8>,
    offset: usize,
    captured: usize,
    length: usize,
    vlan: Option<u16>,
    kind: PacketKind,
    arrived: Duration,
}

impl<'a> Frame<'a> {
    /// `slot` is the ring's next one and belongs to user space.
    fn new(ring: &'a mut PacketRing, slot: NonNull<u8>) -> Self {
        // SAFETY: the slot belongs to us until its status is written; the kernel has filled in the header,
        // which is 16-aligned as every slot is.
        let header = unsafe { slot.cast::<Header>().read() };
        // SAFETY: the link-level address follows the aligned header (see HEADER_BYTES) inside of the slot.
        let address = unsafe {
            slot.add(size_of::<Header>().next_multiple_of(ALIGNMENT)).cast::<libc::sockaddr_ll>().read()
        };
        // The slice stays within the slot, whatever the header says.
        let slot_bytes = ring.layout.slot_bytes as usize;
        let offset = usize::from(header.mac_offset).min(slot_bytes);
        let captured = (header.captured as usize).min(slot_bytes - offset);
        let vlan = (header.status & STATUS_VLAN_VALID != 0).then_some(header.vlan_tci);
        let kind = PacketKind::from_raw(address.sll_pkttype);
        let arrived = Duration::new(header.seconds.into(), header.nanoseconds.min(999_999_999));
        Self { ring, slot, offset, captured, length: header.length as usize, vlan, kind, arrived }
    }

    /// Length of the frame when it arrived, bytes. It is more than the length of its slice if the frame did
    /// not fit into the slot.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The addressee.
    pub fn kind(&self) -> PacketKind {
        self.kind
    }

    /// When the kernel received the frame, as time since 1970.
    pub fn arrived(&self) -> Duration {
        self.arrived
    }

    /// The VLAN tag (TCI) if it had one.
    pub fn vlan(&self) -> Option<u16> {
        self.vlan
    }
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: offset + captured lies inside of the slot (see `new`), which the kernel does not touch
        // until this frame is dropped.
        unsafe { std::slice::from_raw_parts(self.slot.add(self.offset).as_ptr(), self.captured) }
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        // SAFETY: the status word is the first of the slot, 4-aligned, and is accessed atomically only.
        let status = unsafe { AtomicU32::from_ptr(self.slot.cast().as_ptr()) };
        // Release: the reads of the frame are complete before the kernel may overwrite it.
        status.store(STATUS_KERNEL, Ordering::Release);
        self.ring.next = (self.ring.next + 1) & (self.ring.layout.slots - 1);
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
