//! Peers that are refused or given up are told so, and one that never confirms a welcome does not answer.

use tasuki_msg::Pacer;
use tasuki_proto::{Config, Local, Proto, Remote, Time};
use tasuki_wire::{Frame, Packet, RefuseReason, Secret};

use super::super::upcalls::Above;
use super::{Destination, Ends, Target};
use crate::address::Address;
use crate::api::Peer;
use crate::clock::Clock;
use crate::messages::Messages;
use crate::net::rails::{Host, RailTable};
use crate::net::readiness::Readiness;
use crate::net::{Net, Parts};
use crate::peers::Peers;

const NOW: Time = Time(1_000_000);

/// An endpoint whose packets the test carries.
struct Side {
    net: Net,
    messages: Messages,
    peers: Peers,
}

impl Side {
    fn new(endpoint: u32, config: Config) -> Side {
        let identity = std::net::Ipv4Addr::new(127, 0, 0, endpoint as u8).to_ipv6_mapped();
        let own = Address { identity, port: 4000, endpoint, incarnation: 2, secret: [endpoint as u8; 16] };
        let Address { port, incarnation, .. } = own;
        let secret = Secret(own.secret);
        let local = Local { endpoint, incarnation, secret, identity, port };
        let rails = RailTable::default();
        let net = Net::new(Parts {
            host: Host { own, rails, routed_mtu: 1500, fetches: false, job_key: None },
            proto: Proto::new(local, config, u64::from(endpoint)),
            links: Vec::new(),
            opening: None,
            readiness: Readiness::new(&[], None).expect("descriptors"),
            link_watch: None,
            receivers: None,
        });
        let messages = Messages::new(tasuki_msg::Config::default(), Pacer::default(), Clock::new());
        Side { net, messages, peers: Peers::default() }
    }

    fn address(&self) -> Address {
        self.net.host.own
    }

    fn add(&mut self, address: &Address) -> Peer {
        self.peers.find_or_add(address, || self.messages.add_peer())
    }

    /// The packet with which this side greets the other one.
    fn hello(&mut self, to: &Address) -> Vec<u8> {
        let peer = self.add(to);
        let Address { endpoint, incarnation, .. } = *to;
        let remote = Remote { endpoint, incarnation, secret: Secret(to.secret) };
        let conn = self.net.proto.connect(NOW, remote, &self.net.host.own_ends(to.identity)).expect("room");
        self.peers.bind_conn(conn, peer);
        self.net.ask(conn, NOW);
        self.leaves().expect("a hello").0
    }

    fn take(&mut self, packet: &[u8]) {
        let Side { net: Net { proto, host, .. }, messages, peers } = self;
        let mut above = Above { messages, peers, host };
        proto.handle_packet(NOW, packet, &mut above).expect("a good packet");
        while self.net.poll_event(&mut self.peers, NOW).is_some() {}
    }

    /// The next packet, and where it goes.
    fn leaves(&mut self) -> Option<(Vec<u8>, Option<Target>)> {
        let mut packet = vec![0; tasuki_wire::MAX_PACKET_LEN];
        let Side { net: Net { proto, host, targets, links, .. }, messages, peers } = self;
        let mut above = Above { messages, peers, host };
        let transmit = proto.poll_transmit(NOW, &mut packet, &mut above)?;
        packet.truncate(transmit.len);
        let target = targets.of_path(transmit.conn, transmit.path, peers, &Ends { host, links, proto });
        Some((packet, target))
    }

    /// The next packet refuses the endpoint with this address, and goes there.
    fn refuses(&mut self, address: &Address, reason: RefuseReason) {
        let (packet, target) = self.leaves().expect("a refusal");
        let packet = Packet::parse(&packet).expect("a good packet");
        let refuse = Frame::Refuse { incarnation: address.incarnation, reason };
        assert!(packet.frames().any(|frame| frame == refuse), "not for {reason:?}");
        let to = std::net::SocketAddr::new(address.host(), address.port);
        assert_eq!(target, Some(Target { link: 0, to: Destination::Udp(to) }));
    }
}

fn two(here: Config) -> [Side; 2] {
    [Side::new(1, here), Side::new(2, Config::default())]
}

#[test]
fn one_that_finds_no_room_is_told() {
    let [mut here, mut there] = two(Config { max_connections: 0, ..Config::default() });
    here.take(&there.hello(&here.address()));
    here.refuses(&there.address(), RefuseReason::NoRoom);
    assert!(here.peers.are_all_local(), "there is no connection");
}

#[test]
fn one_that_has_failed_is_told_when_it_greets() {
    let [mut here, mut there] = two(Config::default());
    let peer = here.add(&there.address());
    here.peers.get_mut(peer).unwrap().failure = Some("silence".to_owned());
    here.take(&there.hello(&here.address()));
    here.refuses(&there.address(), RefuseReason::GivenUp);
    assert!(here.peers.are_all_local(), "there is no connection");
}

#[test]
fn one_that_fails_while_it_is_connected_is_told() {
    let [mut here, mut there] = two(Config::default());
    here.take(&there.hello(&here.address()));
    let peer = here.add(&there.address());
    here.net.give_up(peer, &mut here.messages, &mut here.peers, NOW);
    assert!(here.peers.are_all_local(), "there is no connection");
    here.refuses(&there.address(), RefuseReason::GivenUp);
}

#[test]
fn one_that_never_confirms_a_welcome_does_not_answer() {
    let [mut here, mut there] = two(Config::default());
    here.take(&there.hello(&here.address()));
    let peer = here.add(&there.address());
    let late: Vec<_> = (0..3).map(|_| here.net.never_answered(3, &here.peers)).collect();
    assert_eq!(late, [vec![], vec![], vec![peer]]);
    // Once it has, it counts as met, however silent it is.
    let (welcome, _) = here.leaves().expect("a welcome");
    there.take(&welcome);
    let conn = there.peers.get(Peer(0)).and_then(|record| record.conn).expect("its connection");
    there.net.acknowledge(conn);
    here.take(&there.leaves().expect("an acknowledgement").0);
    assert_eq!(here.net.never_answered(3, &here.peers), []);
    assert_eq!(here.net.never_answered(1, &here.peers), []);
}
