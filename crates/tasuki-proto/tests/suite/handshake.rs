//! How connections begin: races, losses, refusals, unknown peers.

use tasuki_proto::{Config, Event, Time};
use tasuki_wire::{DropReason, RefuseReason};

use crate::net::{Link, Net};

fn lan() -> Link {
    Link::new(1000, 20, 256)
}

fn net(rails: usize) -> Net {
    Net::new(21, &vec![lan(); rails], true)
}

fn connected(net: &Net, host: usize) -> usize {
    net.hosts[host].events.iter().filter(|event| matches!(event, Event::Connected(_))).count()
}

#[test]
fn the_first_message_does_not_wait_for_the_welcome() {
    let mut net = net(1);
    net.send(0, 8);
    // Delivery takes 20 us of propagation, and 12 us of transmission for a packet of full length.
    net.run_us(35);
    assert_eq!(net.hosts[1].app.messages, 1);
}

fn lengths(net: &Net) -> [usize; 2] {
    [0, 1].map(|host| net.hosts[host].proto.rail_stats(net.conn(host)).map(|stats| stats.packet_len).sum())
}

/// Both sides know what length the rail passes once they have greeted each other, which takes a hello, a
/// welcome and an acknowledgement.
#[test]
fn a_greeting_finds_out_what_length_its_rail_passes() {
    let mut net = net(1);
    net.send(0, 8);
    net.settle(1000);
    // No probe follows later.
    net.run_us(5_000_000);
    assert_eq!(lengths(&net), [1472; 2], "{}", net.describe());
    assert_eq!([net.links[&(0, 0)].packets, net.links[&(1, 0)].packets], [2, 1], "{}", net.describe());
}

/// A greeting that is lost by chance does not make the rail one of short packets.
#[test]
fn a_lost_greeting_does_not_keep_packets_short() {
    for lost in [[1, 0], [0, 1], [1, 1], [0, 2]] {
        let mut net = net(1);
        net.eat = lost;
        net.send(0, 8);
        net.settle(1000);
        net.run_us(1_000_000);
        assert_eq!(lengths(&net), [1472; 2], "{lost:?}: {}", net.describe());
    }
}

/// The handshake succeeds on a rail that passes less than its ends believe, in one direction or both.
#[test]
fn a_greeting_too_long_for_its_rail_is_followed_by_a_short_one() {
    for holes in [[true, false], [false, true], [true, true]] {
        let mut net = net(1);
        for host in [0, 1] {
            net.links.get_mut(&(host, 0)).unwrap().hole = if holes[host] { 1300 } else { usize::MAX };
        }
        net.send(0, 8);
        net.send(1, 8);
        net.settle(1000);
        net.run_us(1_000_000);
        let expected = holes.map(|hole| if hole { 1232 } else { 1472 });
        assert_eq!(lengths(&net), expected, "{holes:?}: {}", net.describe());
        for host in [0, 1] {
            net.send(host, 100_000);
        }
        net.settle(1000);
    }
}

#[test]
fn both_sides_say_hello_at_the_same_time() {
    for lost in [[0, 0], [1, 0], [0, 1], [1, 1], [2, 1]] {
        let mut net = net(2);
        net.eat = lost;
        net.send(0, 3000);
        net.send(1, 3000);
        net.settle(1000);
        assert_eq!((connected(&net, 0), connected(&net, 1)), (1, 1), "{}", net.describe());
        assert!(net.hosts[0].app.accepted.is_empty() && net.hosts[1].app.accepted.is_empty());
    }
}

#[test]
fn any_of_the_first_packets_may_be_lost() {
    for first in 0..8 {
        for second in 0..8 {
            for rails in [1, 2] {
                let mut net = net(rails);
                net.hosts[1].conn = None;
                net.restart(1, 200, &Config::default());
                net.eat = [first, second];
                net.send(0, 5000);
                net.settle(4000);
                net.send(1, 5000);
                net.settle(4000);
                assert_eq!((connected(&net, 0), connected(&net, 1)), (1, 1), "{}", net.describe());
                assert_eq!(net.hosts[1].app.accepted.len(), 1);
            }
        }
    }
}

#[test]
fn hello_tries_every_rail() {
    for dead in [0, 1, 2] {
        let mut net = net(3);
        for rail in (0..3).filter(|rail| *rail != dead) {
            net.both(rail, |link| link.dead = true);
        }
        net.send(0, 5000);
        net.settle(300);
    }
}

#[test]
fn refused() {
    let mut net = net(1);
    net.restart(1, 200, &Config::default());
    net.hosts[1].app.rails = None;
    net.send(0, 10);
    net.run_us(1000);
    let conn = net.conn(0);
    assert!(net.hosts[0].events.contains(&Event::Refused(conn, RefuseReason::Leaving)));
    let sent = net.hosts[0].packets;
    net.run_us(1_000_000);
    assert_eq!(net.hosts[0].packets, sent);
    let host = &mut net.hosts[0];
    host.proto.abort(conn, &mut host.app);
    assert_eq!(host.app.unreleased(), 0);
    // The peer accepts from now on.
    net.hosts[1].app.rails = Some(net.rails[1].clone());
    net.connect(0);
    net.hosts[0].app = crate::app::App::new(&net.rails[0]);
    net.send(0, 10);
    net.settle(1000);
}

#[test]
fn no_room_for_another_peer() {
    let mut net = net(1);
    let config = Config { max_connections: 0, ..Config::default() };
    net.restart(1, 200, &config);
    net.send(0, 10);
    net.run_us(1000);
    let refused = Event::Refused(net.conn(0), RefuseReason::NoRoom);
    assert!(net.hosts[0].events.contains(&refused), "{}", net.describe());
    // The endpoint without room opens none itself, and is not told of one that it does not have.
    let remote = tasuki_proto::Remote { endpoint: 12, incarnation: 300, secret: crate::net::secret(1, 300) };
    let rails = net.rails[1].clone();
    assert_eq!(net.hosts[1].proto.connect(Time(net.now), remote, &rails), None);
    assert_eq!(net.hosts[1].proto.poll_event(), None);
}

/// The process at the other end was replaced: its successor does not answer on the old connection, and drops
/// packets that were meant for its predecessor.
#[test]
pub fn another_incarnation() {
    let mut net = net(1);
    net.send(0, 10);
    net.settle(100);
    net.restart(1, 201, &Config::default());
    net.send(0, 10);
    net.run_us(100_000);
    assert!(net.hosts[1].proto.drops().get(DropReason::Token) > 0);
    assert_eq!(net.hosts[1].packets, 0);
    // A new connection to the old incarnation gets no answer either.
    let host = &mut net.hosts[0];
    let id = host.conn.expect("connected");
    host.proto.abort(id, &mut host.app);
    let old = tasuki_proto::Remote { endpoint: 11, incarnation: 200, secret: crate::net::secret(1, 201) };
    let rails = net.rails[0].clone();
    let id = net.hosts[0].proto.connect(Time(net.now), old, &rails);
    net.hosts[0].conn = id;
    net.send(0, 10);
    net.run_us(100_000);
    let drops = net.hosts[1].proto.drops();
    assert!(drops.get(DropReason::Incarnation) > 0, "{drops:?} {}", net.describe());
    assert_eq!(net.hosts[1].packets, 0);
}

/// A peer's process is replaced, and its successor says hello.
#[test]
fn a_newcomer_in_the_same_place() {
    let mut net = net(2);
    net.send(0, 100_000);
    net.send(1, 100_000);
    net.run_us(300);
    net.restart(1, 201, &Config::default());
    // Packets of the old process are still on their way.
    net.run_us(5_000);
    net.hosts[0].app = crate::app::App::new(&net.rails[0]);
    net.connect(1);
    net.send(1, 1000);
    net.run_until(100, "the newcomer is heard", |net| net.hosts[0].app.messages == 1);
    assert_eq!(net.hosts[0].app.accepted.len(), 1);
}

/// A hello that arrives after its connection has ended does not revive it.
#[test]
fn a_late_hello_after_the_end() {
    let mut net = net(1);
    net.restart(1, 200, &Config::default());
    net.tap = Some(Vec::new());
    net.send(0, 10);
    net.settle(100);
    let hello =
        net.tap.take().and_then(|tap| tap.into_iter().find(|packet| packet.1 == 0)).expect("a hello").2;
    assert_eq!(net.inject(1, &hello), Err(DropReason::Duplicate));
    for host in 0..2 {
        let id = net.conn(host);
        net.hosts[host].proto.close(id);
        net.flush(host);
    }
    net.run_us(100_000);
    assert_eq!(net.inject(1, &hello), Err(DropReason::Peer));
    assert_eq!(net.hosts[1].app.accepted.len(), 1);
}

/// One side forgets the connection and opens another one.
#[test]
fn reset() {
    let mut net = net(1);
    net.send(0, 10);
    net.settle(100);
    let (a, b) = (net.conn(0), net.conn(1));
    let host = &mut net.hosts[0];
    host.proto.abort(a, &mut host.app);
    net.connect(0);
    net.send(0, 20);
    net.run_us(50_000);
    assert!(net.hosts[1].events.contains(&Event::Reset(b)), "{}", net.describe());
    let host = &mut net.hosts[1];
    host.proto.abort(b, &mut host.app);
    net.run_until(1000, "the new connection works", |net| net.hosts[1].app.messages == 2);
}
