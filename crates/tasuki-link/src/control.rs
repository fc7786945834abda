//! Control messages beside a packet.

use std::mem::size_of;

/// Room for the control messages of one packet, aligned as their header must be.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Control<const N: usize>(pub(crate) [u8; N]);

/// Bytes that one control message with `len` bytes of data takes.
pub(crate) const fn space(len: usize) -> usize {
    // SAFETY: this macro of C only computes.
    unsafe { libc::CMSG_SPACE(len as libc::c_uint) as usize }
}

/// Bytes of control data of a batch that the kernel is to cut into segments.
pub(crate) const SEGMENT_SPACE: usize = space(size_of::<u16>());

/// Writes the control message that asks for segments of `size` bytes (UDP_SEGMENT, udp(7)).
pub(crate) fn put_segment(control: &mut Control<SEGMENT_SPACE>, size: u16) {
    let header = libc::cmsghdr {
        // SAFETY: this macro of C only computes.
        cmsg_len: unsafe { libc::CMSG_LEN(size_of::<u16>() as libc::c_uint) } as _,
        cmsg_level: libc::SOL_UDP,
        cmsg_type: libc::UDP_SEGMENT,
    };
    // SAFETY: `control` is aligned for a header and has room for it and two bytes of data behind it
    // (`SEGMENT_SPACE`).
    unsafe {
        let at = control.0.as_mut_ptr();
        at.cast::<libc::cmsghdr>().write(header);
        at.add(size_of::<libc::cmsghdr>()).cast::<u16>().write_unaligned(size);
    }
}

/// Calls `each` with (level, type, data) of every control message in `bytes`, which the kernel has written.
pub(crate) fn each_message(bytes: &[u8], mut each: impl FnMut(libc::c_int, libc::c_int, &[u8])) {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    let mut rest = bytes;
    while rest.len() >= HEADER {
        // SAFETY: `rest` has at least the bytes of a header, of which every pattern is a value.
        let header = unsafe { rest.as_ptr().cast::<libc::cmsghdr>().read_unaligned() };
        let len = header.cmsg_len;
        if len < HEADER || len > rest.len() {
            return;
        }
        each(header.cmsg_level, header.cmsg_type, &rest[HEADER..len]);
        let next = len.next_multiple_of(size_of::<usize>());
        rest = rest.get(next..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_message_is_read_back() {
        let mut control = Control([0; SEGMENT_SPACE]);
        put_segment(&mut control, 1472);
        let mut seen = Vec::new();
        each_message(&control.0, |level, kind, data| seen.push((level, kind, data.to_vec())));
        assert_eq!(seen, [(libc::SOL_UDP, libc::UDP_SEGMENT, 1472_u16.to_ne_bytes().to_vec())]);
    }

    #[test]
    fn lengths_that_lie_end_the_walk() {
        for len in [0_usize, 15, 17 + 100, usize::MAX] {
            let mut bytes = [0_u8; 24];
            bytes[..8].copy_from_slice(&len.to_ne_bytes());
            each_message(&bytes, |_, _, _| panic!("length {len} taken"));
        }
    }
}
