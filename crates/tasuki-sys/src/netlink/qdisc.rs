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
    /// Bucket size in bytes: the most that may be sent at once after a pause.
    pub burst_bytes: u32,
    /// Queue in bytes; a packet that does not fit is dropped.
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

    /// Removes the shaping; not an error if there is none.
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
        match self.add_clsact(index) {
            Err(error) if !error.is_exists() => return Err(error),
            _ => {}
        }
        self.attach(index, TcHandle::MIN_INGRESS, 1, program, name)
    }

    /// Adds the clsact qdisc, which holds classifier programs, to an interface; an error if there is one.
    pub fn add_clsact(&mut self, index: u32) -> Result<(), NetlinkError> {
        let what = || format!("make clsact on interface {index}");
        self.request(what, Message::NewQueueDiscipline(clsact(index)), Create::Exclusive.flags()).map(drop)
    }

    /// Removes the clsact qdisc of an interface, with all programs in it; not an error if there is none.
    pub fn delete_clsact(&mut self, index: u32) -> Result<(), NetlinkError> {
        let what = || format!("remove clsact from interface {index}");
        forgive(self.request(what, Message::DelQueueDiscipline(clsact(index)), 0))
    }

    /// Interfaces that have a clsact qdisc.
    pub fn clsacts(&mut self) -> Result<Vec<u32>, NetlinkError> {
        let all = Message::GetQueueDiscipline(TcMessage::default());
        let answers = self.dump(|| "list queueing disciplines".into(), all)?;
        let index = |answer| match answer {
            Message::NewQueueDiscipline(message) if kind(&message) == Some("clsact") => {
                Some(message.header.index.cast_unsigned())
            }
            _ => None,
        };
        Ok(answers.into_iter().filter_map(index).collect())
    }

    /// Runs a classifier program (direct action) on every frame that leaves through an interface, which must
    /// have a clsact qdisc. It replaces the program that has this priority. Programs of lower priority run
    /// first.
    pub fn attach_egress(
        &mut self,
        index: u32,
        priority: u16,
        program: BorrowedFd,
        name: &str,
    ) -> Result<(), NetlinkError> {
        self.attach(index, TcHandle::MIN_EGRESS, priority, program, name)
    }

    /// Removes the program of this priority from an interface's egress; not an error if there is none.
    pub fn detach_egress(&mut self, index: u32, priority: u16) -> Result<(), NetlinkError> {
        let parent = TcHandle { major: 0xffff, minor: TcHandle::MIN_EGRESS };
        let request = filter(index, parent, priority);
        let what = || format!("detach program {priority} from interface {index}");
        forgive(self.request(what, Message::DelTrafficFilter(request), 0))
    }

    /// The classifier programs on an interface's egress, which must have a clsact qdisc.
    pub fn egress_programs(&mut self, index: u32) -> Result<Vec<AttachedProgram>, NetlinkError> {
        let mut request = TcMessage::default();
        request.header.index = index.cast_signed();
        request.header.parent = TcHandle { major: 0xffff, minor: TcHandle::MIN_EGRESS };
        let what = || format!("list programs of interface {index}");
        let answers = self.dump(what, Message::GetTrafficFilter(request))?;
        let program = |answer| match answer {
            Message::NewTrafficFilter(message) => AttachedProgram::from_message(message),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(program).collect())
    }

    /// All filters in an interface's clsact qdisc, of both ways and of any kind, programs or not.
    pub fn clsact_filters(&mut self, index: u32) -> Result<Vec<Filter>, NetlinkError> {
        let mut filters = Vec::new();
        for minor in [TcHandle::MIN_INGRESS, TcHandle::MIN_EGRESS] {
            let mut request = TcMessage::default();
            request.header.index = index.cast_signed();
            request.header.parent = TcHandle { major: 0xffff, minor };
            let what = || format!("list filters of interface {index}");
            for answer in self.dump(what, Message::GetTrafficFilter(request))? {
                let Message::NewTrafficFilter(message) = answer else { continue };
                let kind = kind(&message).unwrap_or_default().to_owned();
                let priority = (message.header.info >> 16) as u16;
                filters.push(Filter { is_egress: minor == TcHandle::MIN_EGRESS, kind, priority });
            }
        }
        Ok(filters)
    }

    fn attach(
        &mut self,
        index: u32,
        side: u16,
        priority: u16,
        program: BorrowedFd,
        name: &str,
    ) -> Result<(), NetlinkError> {
        let mut filter = filter(index, TcHandle { major: 0xffff, minor: side }, priority);
        filter.attributes.push(TcAttribute::Options(vec![
            TcOption::Bpf(TcFilterBpfOption::ProgFd(program.as_raw_fd().cast_unsigned())),
            TcOption::Bpf(TcFilterBpfOption::ProgName(name.into())),
            TcOption::Bpf(TcFilterBpfOption::Flags(TcBpfFlags::DirectAction)),
        ]));
        let what = || format!("attach program {name} to interface {index}");
        self.request(what, Message::NewTrafficFilter(filter), Create::Replace.flags()).map(drop)
    }
}

/// A filter in a clsact qdisc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Whether it sees what leaves through the interface, and not what comes in.
    pub is_egress: bool,
    /// Its kind, as `bpf` or `flower`.
    pub kind: String,
    /// Its priority: filters of lower priority run first.
    pub priority: u16,
}

/// A classifier program on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedProgram {
    /// The name under which it was attached.
    pub name: String,
    /// Its priority: programs of lower priority run first.
    pub priority: u16,
    /// The kernel's number of the program.
    pub id: u32,
}

impl AttachedProgram {
    fn from_message(message: TcMessage) -> Option<Self> {
        let priority = (message.header.info >> 16) as u16;
        let (mut name, mut id) = (None, None);
        for attribute in message.attributes {
            let TcAttribute::Options(options) = attribute else { continue };
            for option in options {
                match option {
                    TcOption::Bpf(TcFilterBpfOption::ProgName(text)) => name = Some(text),
                    TcOption::Bpf(TcFilterBpfOption::ProgId(number)) => id = Some(number),
                    _ => {}
                }
            }
        }
        Some(Self { name: name?, priority, id: id? })
    }
}

fn clsact(index: u32) -> TcMessage {
    message(index, "clsact", TcHandle::CLSACT, TcHandle { major: 0xffff, minor: 0 })
}

fn filter(index: u32, parent: TcHandle, priority: u16) -> TcMessage {
    let mut filter = message(index, "bpf", parent, TcHandle { major: 0, minor: 1 });
    // Priority in the upper half, protocol (ETH_P_ALL, network order) in the lower.
    filter.header.info = u32::from(priority) << 16 | u32::from((libc::ETH_P_ALL as u16).to_be());
    filter
}

fn kind(message: &TcMessage) -> Option<&str> {
    message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(kind) => Some(kind.as_str()),
        _ => None,
    })
}

/// Makes a success of the error that an object to be removed does not exist.
fn forgive<T>(result: Result<T, NetlinkError>) -> Result<(), NetlinkError> {
    let gone = [libc::ENOENT, libc::EINVAL, libc::ENODEV];
    match result {
        Err(error) if !error.source.raw_os_error().is_some_and(|code| gone.contains(&code)) => Err(error),
        _ => Ok(()),
    }
}
