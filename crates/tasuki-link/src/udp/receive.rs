//! Receiving packets and reports of packets that were not delivered.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use super::UdpLink;
use crate::refusal::{Entry, read_error};
use crate::{LinkError, Refusal};
use tasuki_tuning::datagrams;

/// One of the lane's sockets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The first socket, which receives from any sender.
    All,
    /// The follower's socket.
    Followed,
}

impl UdpLink {
    /// Receives about `budget` packets (a coalesced batch is not cut) and hands each to `each`. Returns how
    /// many; 0 if none waits.
    ///
    /// This makes one system call for each socket if no or one packet waits. Fewer packets than `budget` do
    /// not mean that no more are waiting; 0 does.
    pub fn receive(
        &mut self,
        budget: usize,
        mut each: impl FnMut(SocketAddr, &[u8]),
    ) -> Result<usize, LinkError> {
        self.receives = self.receives.wrapping_add(1);
        if self.follower.socket().is_some() {
            let count = self.receive_from(Source::Followed, budget, &mut each)?;
            self.follower.followed(count);
            if count > 0 && !self.receives.is_multiple_of(datagrams::FIRST_EVERY) {
                return Ok(count);
            }
            let more = self.receive_from(Source::All, budget.saturating_sub(count).max(1), &mut each);
            return if count > 0 { Ok(count + more.unwrap_or(0)) } else { more };
        }
        self.receive_from(Source::All, budget, &mut each)
    }

    /// Like [`UdpLink::receive`], at one of the sockets.
    fn receive_from(
        &mut self,
        source: Source,
        budget: usize,
        each: &mut impl FnMut(SocketAddr, &[u8]),
    ) -> Result<usize, LinkError> {
        let UdpLink { follower, buffers, stats, several, hinted, .. } = self;
        let several = &mut several[source as usize];
        let (mut packets, mut errors) = (0, 0);
        while packets < budget {
            // One packet is asked for alone, which is cheaper, until such a call finds one: then others may
            // be behind it.
            let want = if *several { datagrams::RECEIVED_MAX.min(budget - packets) } else { 1 };
            stats.receive_calls += 1;
            let fd: &OwnedFd = match source {
                Source::All => &self.fd,
                Source::Followed => follower.socket().unwrap_or(&self.fd),
            };
            match buffers.fill(fd, want) {
                Ok(came) => {
                    for index in 0..came {
                        packets += buffers.deliver(index, stats, &mut |from, packet: &[u8]| {
                            if source == Source::All {
                                follower.heard(from);
                            }
                            each(from, packet);
                        });
                    }
                    let before = std::mem::replace(several, came == want || came > 1);
                    if !before || came < want {
                        // Datagrams may have come that were unusable: that does not mean that nothing waits.
                        if packets > 0 || came == 0 {
                            return Ok(packets);
                        }
                    }
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => {
                        *several = false;
                        return Ok(packets);
                    }
                    _ if errors < datagrams::OLD_ERRORS_MAX => {
                        *hinted = true;
                        errors += 1;
                    }
                    _ if packets > 0 => return Ok(packets),
                    _ => return Err(LinkError::Receive { local: self.local, source: error }),
                },
            }
        }
        Ok(packets)
    }

    /// The next report of an undelivered packet. It makes a system call only if an error of a send or receive
    /// has hinted that there is one.
    pub fn poll_refusal(&mut self) -> Option<Refusal> {
        if let Some(refusal) = self.own.pop_front() {
            self.stats.refusals += 1;
            return Some(refusal);
        }
        while self.hinted {
            // Reports of packets to the peer that the follower's socket is connected to are in that socket's
            // queue.
            let told = match read_error(&self.fd) {
                Entry::None => self.follower.socket().map_or(Entry::None, read_error),
                told => told,
            };
            match told {
                // What this host itself refused has been reported already, when it did.
                Entry::Refusal(refusal) if !refusal.own => {
                    self.stats.refusals += 1;
                    return Some(refusal);
                }
                Entry::Refusal(_) | Entry::Useless => {}
                Entry::None => self.hinted = false,
            }
        }
        None
    }
}
