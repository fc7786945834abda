//! Peers come and go: which route leads to each, and how this endpoint takes leave.

use tasuki_msg::PeerOptions;
use tasuki_proto::{ConnId, Event, Time};
use tasuki_tuning::shm;

use super::{Engine, Phase, describe, ends, stats, streaming};
use crate::address::Address;
use crate::api::Peer;
use crate::liveness::{Interest, tell_user};
use crate::peers::Route;
use crate::shm::{GONE, Unreachable};

/// Routes.
impl Engine {
    /// Makes a peer known, or finds it.
    pub fn add_peer(&mut self, address: &Address) -> Peer {
        self.peers.find_or_add(address, || self.messages.add_peer())
    }

    /// The address of a peer.
    pub fn peer_address(&self, peer: Peer) -> Option<Address> {
        self.peers.get(peer).map(|record| record.address)
    }

    /// The message layer has something for a peer: its carrier gets it.
    pub(super) fn activate(&mut self, peer: Peer, now: Time) {
        self.choose_route(peer, now);
        let Some(record) = self.peers.get(peer) else { return };
        match record.route {
            Route::Loopback => self.messages.loop_back(record.id),
            Route::Shm => self.shm.push(peer, &mut self.messages, &self.peers),
            Route::Net(conn) => self.net.wake(conn),
            Route::Unknown | Route::Gone => {}
        }
    }

    /// Chooses the route to a peer if none is chosen yet: shared memory if the peer is on this host, packets
    /// otherwise.
    pub(super) fn choose_route(&mut self, peer: Peer, now: Time) {
        let Some(record) = self.peers.get(peer) else { return };
        if record.route != Route::Unknown || record.gone {
            return;
        }
        let (id, address) = (record.id, record.address);
        if address == self.address {
            self.set_route(peer, Route::Loopback);
            return self.messages.set_options(id, PeerOptions { inline_max: u64::MAX, pull: false });
        }
        if let Err(reason) = self.net.check_key(&address) {
            tell_user(&format!("{address}: {reason}"));
            return ends::fail_peer(self, peer, reason.to_owned());
        }
        match self.shm.connect(peer, &address) {
            Ok((inline_max, pull)) => {
                self.set_route(peer, Route::Shm);
                self.messages.set_options(id, PeerOptions { inline_max, pull });
                // The ring bounds what is under way. An error means that the peer was forgotten.
                let _ = self.messages.layer_mut().set_whole_max(id, shm::WHOLE_MAX);
                if let Some(pid) = self.shm.outbound(peer).and_then(|outbound| outbound.outbox.owner_pid()) {
                    self.wait.processors().add_peer(peer, pid);
                }
            }
            Err(Unreachable::Dead) => ends::end_peer(self, peer, GONE.to_owned()),
            Err(Unreachable::Elsewhere) => self.connect(peer, &address, now),
        }
    }

    fn connect(&mut self, peer: Peer, address: &Address, now: Time) {
        // The greeting names the raw lanes if they are there.
        if self.net.install_opened_lanes(&self.peers, now) {
            self.page.set_lanes(&self.shm, &self.net);
        }
        self.wait.meeting(now);
        let Some((conn, inline_max)) = self.net.connect(peer, address, &mut self.peers, now) else {
            return ends::fail_peer(
                self,
                peer,
                "this endpoint has as many connections as it can have".to_owned(),
            );
        };
        self.set_route(peer, Route::Net(conn));
        if let Some(id) = self.peers.id(peer) {
            let pull = self.rendezvous.fetches();
            self.messages.set_options(id, PeerOptions { inline_max, pull });
        }
    }

    fn set_route(&mut self, peer: Peer, route: Route) {
        if let Some(record) = self.peers.get_mut(peer) {
            record.route = route;
        }
    }

    /// Does what follows from events of the packet layer.
    pub(super) fn hear_net_events(&mut self, now: Time) {
        while let Some(event) = self.net.poll_event(&mut self.peers, now) {
            match event {
                Event::Refused(conn, reason) => {
                    if let Some(peer) = self.peers.by_conn(conn) {
                        ends::fail_peer(self, peer, crate::net::why_refused(reason));
                    }
                }
                Event::Reset(conn) => {
                    if let Some(peer) = self.peers.by_conn(conn) {
                        ends::fail_peer(self, peer, "it has forgotten the connection".to_owned());
                    }
                }
                Event::Closed(conn) => self.connection_closed(conn),
                Event::Connected(conn) => {
                    self.wait.meeting(now);
                    streaming::connected(self, now);
                    if let Some(peer) = self.peers.by_conn(conn) {
                        ends::part_from_newcomer(self, peer);
                    }
                }
                Event::RailsChanged(_) | Event::RailUp(..) | Event::RailDown(..) => {}
            }
        }
    }

    fn connection_closed(&mut self, conn: ConnId) {
        let Some(peer) = self.peers.by_conn(conn) else { return };
        self.peers.unbind_conn(peer);
        self.rendezvous.forget_connection(peer, &mut self.messages);
        if let Some(record) = self.peers.get_mut(peer)
            && matches!(record.route, Route::Net(_))
        {
            record.route = Route::Gone;
        }
    }
}

/// Looking after peers.
impl Engine {
    /// What is done five times a second: the statistics page, and looking after peers.
    pub(super) fn periodic(&mut self, now: Time) {
        self.liveness.begin_round(now);
        stats::update(self);
        streaming::invite(self, now);
        let interest = Interest {
            closing: self.is_closing(),
            operations: !self.messages.is_idle(),
            reports: self.on_failure.is_some(),
        };
        self.liveness.knock_all(interest, &mut self.net, &self.peers, now);
        let mut verdicts = self.liveness.judge(&mut self.net, &self.peers, now);
        verdicts.extend(self.liveness.never_met(&mut self.net, &self.peers));
        ends::carry_out(self, verdicts, now);
        for (peer, reason) in self.shm.take_dead(&self.peers, self.is_closing()) {
            ends::fail_peer(self, peer, reason);
        }
        if self.liveness.is_round_for_all() {
            self.shm.look_after(&self.peers);
            self.liveness.tell_of_unanswered(&mut self.net, &self.peers, now);
        }
        // Peers that were asked for a sign of life have something to be sent.
        self.unsettle();
    }
}

/// Taking leave.
impl Engine {
    /// Raw lanes that are still being opened come too late.
    pub fn stop_opening_lanes(&mut self) {
        self.net.stop_opening_lanes();
    }

    /// Says goodbye to all peers. From now on nothing can be posted.
    pub fn say_goodbye(&mut self) {
        self.phase = Phase::Parting;
        self.net.stay();
        for peer in self.peers.numbers() {
            let Some(record) = self.peers.get(peer) else { continue };
            if record.is_acquainted() && !record.gone {
                // The only error is an unknown peer, and this one is known.
                let _ = self.messages.layer_mut().close_peer(record.id);
            }
        }
    }

    /// Makes sure that every peer gets the acknowledgements of all that it has sent: one that had lost the
    /// last of them would find nobody to ask, and take what has arrived for lost.
    pub fn confirm(&mut self) {
        self.phase = Phase::Confirming;
        self.peers.iter().filter_map(|(_, record)| record.conn).for_each(|conn| self.net.close(conn));
    }

    /// Whether peers were told to end, whatever their programs still want.
    pub fn is_confirming(&self) -> bool {
        self.phase == Phase::Confirming
    }

    /// Whether all connections have ended, and no ring has to be waited for. (A connection ends by itself
    /// when the goodbye is said and both sides know that everything has arrived, or when there is evidence
    /// that the peer is gone.)
    pub fn is_closed(&self) -> bool {
        let confirming = self.is_confirming();
        self.peers.iter().all(|(peer, record)| {
            let over = record.conn.is_none_or(|conn| self.net.proto().is_closed(conn));
            let parted = record.gone || confirming || !record.is_acquainted();
            over && parted && !self.shm.has_unsent(peer)
        })
    }

    /// Whether all that was handed to carriers has arrived, by streams too.
    pub fn is_drained(&self) -> bool {
        self.peers.iter().all(|(peer, record)| {
            record.conn.is_none_or(|conn| self.net.proto().is_drained(conn))
                && !self.shm.has_unsent(peer)
                && !self.rendezvous.owes(peer)
        })
    }

    /// Makes progress and drops completions, which nobody will read. True if there was something.
    pub fn progress_leaving(&mut self) -> bool {
        let busy = self.progress();
        self.messages.completions_mut().clear();
        busy
    }

    /// Asks the hosts of peers from which an acknowledgement is overdue whether those are still there.
    pub fn knock_silent(&mut self) {
        let now = self.now();
        self.liveness.knock_silent(&mut self.net, &self.peers, now);
    }

    /// Whether senders of long messages may still write into memory that the program is to get back. Ends the
    /// dual copies that can be ended.
    pub fn is_lent(&mut self) -> bool {
        self.shm.end_pulls(&mut self.messages);
        let now = self.now();
        // Senders that have died without a word are found in the rounds.
        if self.shm.has_pending_copies() && now >= self.liveness.next_round() {
            self.periodic(now);
        }
        self.shm.has_pending_copies()
    }

    /// The state in words.
    pub fn describe(&self) -> String {
        describe(self)
    }
}
