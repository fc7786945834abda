//! Sending what is queued, and what to do if the kernel refuses it.

use std::io;

use super::UdpLink;
use crate::refusal::{Entry, read_error};
use crate::send::{send_first, send_many};
use crate::{LinkError, Refusal, RefusalKind};
use tasuki_tuning::datagrams;

/// What to do after an error of a send.
enum After {
    /// Try again at once.
    Retry,
    /// Leave the rest in the queue.
    Wait,
    /// The packet or batch is lost.
    Drop(io::Error),
}

impl UdpLink {
    /// Hands queued packets to the kernel and returns how many it took. What it cannot take now stays
    /// queued (see [`UdpLink::queued`]; wait for the descriptor to become writable). Packets that it
    /// refuses for good are dropped and counted, and the first such error is returned after the rest has
    /// been tried.
    pub fn flush(&mut self) -> Result<usize, LinkError> {
        let (mut handed, mut failure) = (0, None);
        while let Some(first) = self.queue.waiting().first() {
            let alone = first.split || self.queue.waiting().len() == 1;
            self.stats.send_calls += 1;
            let outcome = if alone {
                send_first(&self.fd, &self.queue).map(|()| 1)
            } else {
                send_many(&self.fd, &self.queue, &mut self.headers)
            };
            match outcome {
                Ok(sends) => (0..sends).for_each(|_| handed += self.sent()),
                Err(error) => match self.after(error) {
                    After::Retry => {}
                    After::Wait => break,
                    After::Drop(source) => {
                        let error = self.drop_first(source);
                        failure = failure.or(error);
                    }
                },
            }
        }
        failure.map_or(Ok(handed), Err)
    }

    /// Takes the first send off the queue after it has gone. Returns how many packets that were.
    fn sent(&mut self) -> usize {
        if let Some(batch) = self.queue.front() {
            if batch.split {
                // The packet went alone and not in a batch, so this NIC or route cannot segment.
                self.queue.join = false;
            } else if batch.packets > 1 {
                self.stats.sent_batches += 1;
            }
        }
        let (packets, bytes) = self.queue.pop();
        self.stats.sent_packets += packets as u64;
        self.stats.sent_bytes += bytes as u64;
        packets
    }

    /// What to do after an error of the first send.
    fn after(&mut self, error: io::Error) -> After {
        let errno = error.raw_os_error().unwrap_or(0);
        let Some(batch) = self.queue.front() else { return After::Wait };
        match errno {
            libc::EINTR => return After::Retry,
            // ENOBUFS means that the queue of the NIC is full, which the kernel says because of IP_RECVERR;
            // the packet has not gone.
            libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM => {
                self.stats.send_again += 1;
                return After::Wait;
            }
            // These errors are always about the packet that is being sent.
            libc::EINVAL | libc::EIO | libc::EAFNOSUPPORT | libc::EPERM => {}
            _ => {
                self.hinted = true;
                batch.errors += 1;
                // Every EMSGSIZE leaves an entry in the error queue, so such a send is only tried twice.
                if batch.errors <= if errno == libc::EMSGSIZE { 1 } else { datagrams::OLD_ERRORS_MAX } {
                    return After::Retry;
                }
            }
        }
        // EINVAL means that a segment exceeds the MTU, or on some kernels that the device has no
        // checksum offload; EIO the same, or that there is IPsec on the path; EMSGSIZE that a segment
        // exceeds the MTU. Sending the packets one by one shows which of them is at fault.
        let joined = batch.packets > 1 && !batch.split;
        if joined && matches!(errno, libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::EOPNOTSUPP) {
            batch.split = true;
            batch.errors = 0;
            self.stats.segment_refused += 1;
            return After::Retry;
        }
        After::Drop(error)
    }

    /// Drops the first send of the queue because of `source`.
    fn drop_first(&mut self, source: io::Error) -> Option<LinkError> {
        let to = self.queue.front()?.to;
        let (packets, _) = self.queue.pop();
        let errno = source.raw_os_error().unwrap_or(0);
        let mtu = if errno == libc::EMSGSIZE { self.own_mtu() } else { 0 };
        let kind = match errno {
            // ECONNREFUSED is never about the packet that is being sent, since no answer to that can have
            // come yet.
            libc::ECONNREFUSED => RefusalKind::Other(errno),
            _ => RefusalKind::from_errno(errno, mtu),
        };
        let count = match kind {
            RefusalKind::TooBig { .. } => &mut self.stats.send_too_big,
            RefusalKind::Other(_) => &mut self.stats.send_other,
            _ => &mut self.stats.send_unreachable,
        };
        *count += packets as u64;
        self.keep(Refusal::own(to, kind));
        Some(LinkError::Send { from: self.local, to, packets, source })
    }

    /// Keeps a refusal of this host for `poll_refusal`.
    fn keep(&mut self, refusal: Refusal) {
        if self.own.len() < datagrams::OWN_REFUSALS_MAX {
            self.own.push_back(refusal);
        }
    }

    /// The MTU because of which this host has just refused a packet; 0 if it is not known. It stands in
    /// the error queue. Entries there of this host's own making lack the port, since the socket is not
    /// connected, so that they are of no other use.
    fn own_mtu(&mut self) -> u32 {
        let mut mtu = 0;
        loop {
            match read_error(&self.fd) {
                Entry::Refusal(Refusal { kind: RefusalKind::TooBig { mtu: found }, own: true, .. }) => {
                    mtu = found
                }
                Entry::Refusal(Refusal { own: true, .. }) | Entry::Useless => {}
                Entry::Refusal(refusal) => self.keep(refusal),
                Entry::None => return mtu,
            }
        }
    }
}
