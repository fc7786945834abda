//! Queueing disciplines: token bucket for a link's rate, and classifier programs in eBPF.

use super::{Create, Netlink, NetlinkError};
use netlink_packet_core::DefaultNla;
use netlink_packet_route::{
    RouteNetlinkMessage as Message,
    tc::{TcAttribute, TcBpfFlags, TcFilterBpfOption, TcHandle, TcMessage, TcOption},
};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Parameters of the kernel's `tbf`, counting bytes as they are on an Ethernet wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Rate in bit/s, all bytes on the wire counted.
    pub bits_per_second: u64,
    /// Bucket size in bytes: what may go out at once after a pause.
    pub burst_bytes: u32,
    /// Queue in bytes; what does not fit is dropped.
    pub limit_bytes: u32,
}

/// Bytes on the wire that an `sk_buff` does not count: preamble 8, frame check sequence 4, gap 12.
const ETHERNET_OVERHEAD: u16 = 24;
/// Bytes that the shortest frame takes on the wire (64 + preamble 8 + gap 12).
const ETHERNET_MINIMUM: u16 = 84;
/// `TC_LINKLAYER_ETHERNET` of include/uapi/linux/pkt_sched.h.
const LINK_LAYER_ETHERNET: u8 = 1;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;

impl TokenBucket {
    /// `struct tc_tbf_qopt` (include/uapi/linux/pkt_sched.h): two `tc_ratespec`, then limit, buffer, mtu.
    fn parameters(&self) -> Vec<u8> {
        let bytes_per_second = self.bits_per_second / 8;
        let mut bytes = vec![0u8, LINK_LAYER_ETHERNET];
        bytes.extend(ETHERNET_OVERHEAD.to_ne_bytes());
        bytes.extend(0i16.to_ne_bytes());
        bytes.extend(ETHERNET_MINIMUM.to_ne_bytes());
        bytes.extend(u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
        bytes.extend([0u8; 12]);
        bytes.extend(self.limit_bytes.to_ne_bytes());
        // `buffer` and `mtu` are in units of time and superseded by TCA_TBF_BURST.
        bytes.extend([0u8; 8]);
        bytes
    }

    fn options(&self) -> Vec<TcOption> {
        let other = |kind, value| TcOption::Other(DefaultNla::new(kind, value));
        let bytes_per_second = self.bits_per_second / 8;
        let mut options = vec![
            other(TCA_TBF_PARMS, self.parameters()),
            other(TCA_TBF_BURST, self.burst_bytes.to_ne_bytes().to_vec()),
        ];
        if bytes_per_second > u64::from(u32::MAX) {
            options.push(other(TCA_TBF_RATE64, bytes_per_second.to_ne_bytes().to_vec()));
        }
        options
    }
}

fn message(index: u32, kind: &str, parent: TcHandle, handle: TcHandle) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = index.cast_signed();
    message.header.parent = parent;
    message.header.handle = handle;
    message.attributes.push(TcAttribute::Kind(kind.into()));
    message
}

impl Netlink {
    /// Shapes what leaves through an interface.
    pub fn set_token_bucket(&mut self, index: u32, bucket: &TokenBucket) -> Result<(), NetlinkError> {
        let mut request = message(index, "tbf", TcHandle::ROOT, TcHandle { major: 1, minor: 0 });
        request.attributes.push(TcAttribute::Options(bucket.options()));
        let what = || format!("shape interface {index} to {} bit/s", bucket.bits_per_second);
        self.request(what, Message::NewQueueDiscipline(request), Create::Replace.flags()).map(drop)
    }

    /// Takes the shaping away; not an error if there is none.
    pub fn clear_root_qdisc(&mut self, index: u32) -> Result<(), NetlinkError> {
        let mut request = TcMessage::default();
        request.header.index = index.cast_signed();
        request.header.parent = TcHandle::ROOT;
        let result = self.request(
            || format!("remove the root qdisc of interface {index}"),
            Message::DelQueueDiscipline(request),
            0,
        );
        match result {
            Err(error) if error.source.raw_os_error() != Some(libc::ENOENT) => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs a classifier program (direct action) on every frame that comes in through an interface.
    pub fn attach_ingress(
        &mut self,
        index: u32,
        program: BorrowedFd,
        name: &str,
    ) -> Result<(), NetlinkError> {
        let clsact = message(index, "clsact", TcHandle::CLSACT, TcHandle { major: 0xffff, minor: 0 });
        let what = || format!("make clsact on interface {index}");
        match self.request(what, Message::NewQueueDiscipline(clsact), Create::Exclusive.flags()) {
            Err(error) if !error.is_exists() => return Err(error),
            _ => {}
        }
        let parent = TcHandle { major: 0xffff, minor: TcHandle::MIN_INGRESS };
        let mut filter = message(index, "bpf", parent, TcHandle { major: 0, minor: 1 });
        // Priority in the upper half, protocol (ETH_P_ALL, network order) in the lower.
        let every_protocol = u32::from((libc::ETH_P_ALL as u16).to_be());
        filter.header.info = (1 << 16) | every_protocol;
        filter.attributes.push(TcAttribute::Options(vec![
            TcOption::Bpf(TcFilterBpfOption::ProgFd(program.as_raw_fd().cast_unsigned())),
            TcOption::Bpf(TcFilterBpfOption::ProgName(name.into())),
            TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
        ]));
        let what = || format!("attach program {name} to interface {index}");
        self.request(what, Message::NewTrafficFilter(filter), Create::Replace.flags()).map(drop)
    }
}
