//! A peer that was given up, and lives: it learns of that, whatever it does, and nobody else can bring it
//! about.

use tasuki_proto::{Config, ConnId, Event, Remote, Time};
use tasuki_wire::{DropReason, Frame, Header, JobKey, Packet, PacketBuilder, RefuseReason};

use crate::net::{Link, Net, secret};

pub fn net(rails: usize, job_key: Option<JobKey>) -> Net {
    let links = vec![Link::new(1000, 20, 256); rails];
    Net::with_mtu(61, &links, true, 1500, &Config { job_key, ..Config::default() })
}

const KEYS: [Option<JobKey>; 2] = [None, Some(JobKey([7; 16]))];

/// A host gives up its connection.
pub fn give_up(net: &mut Net, host: usize) {
    let (id, now) = (net.conn(host), Time(net.now));
    let there = &mut net.hosts[host];
    there.proto.give_up(now, id, &mut there.app);
    assert_eq!(there.app.unreleased(), 0, "all payload is given back at once");
    net.flush(host);
}

/// Whether the host has learnt that it was given up.
pub fn knows(net: &Net, host: usize) -> bool {
    let told = |event: &Event| matches!(event, Event::Refused(_, RefuseReason::GivenUp));
    net.hosts[host].events.iter().any(told)
}

/// A host whose connection was refused gives it up in turn, as engines do.
pub fn settle(net: &mut Net, host: usize) {
    assert!(knows(net, host), "{}", net.describe());
    give_up(net, host);
}

/// Host 1 is stopped while host 0 greets it, and goes on when host 0 has given it up: it accepts the hello
/// and has the message in it, and waits for more.
#[test]
fn one_that_accepts_an_old_hello_is_told() {
    for key in KEYS {
        let mut net = net(1, key);
        net.restart(1, 200, &Config { job_key: key, ..Config::default() });
        net.tap = Some(Vec::new());
        net.eat = [1, 0];
        net.send(0, 10);
        let hello = net.tap.take().expect("a tap").remove(0).2;
        give_up(&mut net, 0);
        net.run_us(60_000_000);
        assert_eq!(net.inject(1, &hello), Ok(()));
        assert_eq!(net.hosts[1].app.messages, 1);
        net.hosts[1].conn = net.hosts[1].proto.find(10, 100);
        net.run_us(1_000_000);
        settle(&mut net, 1);
        assert_eq!(net.hosts[0].app.messages, 0);
    }
}

/// Losses do not keep the news from one that waits and has nothing to send.
#[test]
pub fn one_that_waits_is_told_unasked() {
    for key in KEYS {
        for lost in 0..6 {
            let mut net = net(2, key);
            net.send(0, 10);
            net.send(1, 10);
            net.settle(100);
            net.run_us(1_000_000);
            net.eat = [lost, 0];
            give_up(&mut net, 0);
            net.run_us(2_000_000);
            settle(&mut net, 1);
        }
    }
}

/// Host 0 has greeted host 1 in vain. When host 1 says hello by itself, it is refused.
#[test]
fn one_that_says_hello_later_is_told() {
    for key in KEYS {
        let mut net = net(1, key);
        net.eat = [100, 0];
        net.send(0, 10);
        net.run_us(500_000);
        give_up(&mut net, 0);
        net.eat = [0, 0];
        net.run_us(60_000_000);
        net.send(1, 10);
        net.run_us(1_000_000);
        settle(&mut net, 1);
        assert_eq!((net.hosts[0].app.accepted.len(), net.hosts[0].app.messages), (0, 0));
    }
}

/// Host 1 is given up before its welcome arrives; it repeats its hello, as it must.
#[test]
fn one_whose_hello_was_accepted_is_told() {
    let mut net = net(1, None);
    net.restart(0, 100, &Config::default());
    net.eat = [5, 0];
    net.send(1, 10);
    net.run_until(100, "accepted", |net| net.hosts[0].conn.is_some());
    give_up(&mut net, 0);
    net.run_us(2_000_000);
    settle(&mut net, 1);
}

/// A peer that sends at full speed gets an answer now and then, and one that says nothing is told a few times
/// alone.
#[test]
fn news_are_few() {
    let mut net = net(1, None);
    net.send(0, 10);
    net.send(1, 10_000_000);
    net.run_us(10_000);
    // What host 0 sends is lost, so host 1 goes on and on.
    net.eat = [1000, 0];
    let before = (net.hosts[0].packets, net.hosts[1].packets);
    give_up(&mut net, 0);
    net.run_us(1_000_000);
    let told = net.hosts[0].packets - before.0;
    assert!(net.hosts[1].packets - before.1 > 10 && told > 5, "{told}: {}", net.describe());
    // At most 50 answers in a second, and fewer than ten times unasked.
    assert!(told <= 60, "{told}");
    net.hosts[1].conn = None;
    net.links.get_mut(&(1, 0)).unwrap().dead = true;
    net.run_us(200_000_000);
    let all = net.hosts[0].packets;
    assert!(all - before.0 <= told + 12, "{}", all - before.0);
    net.run_us(1_000_000_000);
    assert_eq!(net.hosts[0].packets, all);
}

/// Both sides give each other up. The news get no answer, and each side stops when it has the other's.
#[test]
fn two_that_give_each_other_up_fall_silent() {
    let mut net = net(1, None);
    net.send(0, 10);
    net.settle(100);
    net.run_us(1_000_000);
    let before = [0, 1].map(|host| net.hosts[host].packets);
    give_up(&mut net, 0);
    give_up(&mut net, 1);
    net.run_us(1_000_000_000);
    let sent = [0, 1].map(|host| net.hosts[host].packets - before[host]);
    assert_eq!(sent, [1, 1]);
}

/// A packet with one frame of host 1, with which it would provoke an answer, and its header.
fn of_host_1(net: &Net, number: u64) -> Header {
    let tap = net.tap.as_ref().expect("a tap").iter().rev();
    let headers =
        tap.filter(|(_, from, _)| *from == 1).map(|(_, _, bytes)| *Packet::parse(bytes).unwrap().header());
    Header { number, ..headers.into_iter().find(|header| header.peer != 0).expect("a packet") }
}

fn packet(header: Header, frame: &Frame<'_>) -> Vec<u8> {
    let mut buffer = vec![0; 1472];
    let mut builder = PacketBuilder::new(&mut buffer, header).expect("a header");
    builder.push(frame).expect("room");
    let len = builder.finish().expect("a packet");
    buffer.truncate(len);
    buffer
}

/// Neither a packet without the secret nor one that is sent again makes the endpoint say anything.
#[test]
fn strangers_and_repeaters_get_no_answer() {
    let mut net = net(1, None);
    net.tap = Some(Vec::new());
    net.send(0, 10);
    net.send(1, 10);
    net.settle(100);
    net.run_us(1_000_000);
    let old = net.tap.as_ref().unwrap().clone();
    net.eat = [1000, 1000];
    give_up(&mut net, 0);
    net.run_us(200_000_000);
    let before = net.hosts[0].packets;
    for (_, from, bytes) in &old {
        if *from == 1 {
            let result = net.inject(0, bytes);
            assert!(matches!(result, Err(DropReason::Duplicate | DropReason::Peer)), "{result:?}");
        }
    }
    let genuine = of_host_1(&net, 1000);
    let wrong_token = Header { token: 9, ..genuine };
    let wrong_name = Header { peer: genuine.peer ^ 0x10000, ..genuine };
    assert_eq!(net.inject(0, &packet(wrong_token, &Frame::Ping)), Err(DropReason::Token));
    assert_eq!(net.inject(0, &packet(wrong_name, &Frame::Ping)), Err(DropReason::Peer));
    net.run_us(1_000_000);
    assert_eq!(net.hosts[0].packets, before);
    // The peer itself gets one.
    assert_eq!(net.inject(0, &packet(genuine, &Frame::Ping)), Ok(()));
    assert_eq!(net.hosts[0].packets, before + 1);
}

/// A refuse that names another incarnation, or has a wrong token, ends no connection.
#[test]
fn a_refuse_for_another_one_is_nothing() {
    let mut net = net(1, None);
    net.tap = Some(Vec::new());
    net.send(0, 10);
    net.send(1, 10);
    net.settle(100);
    let genuine = of_host_1(&net, 1000);
    let refuse = |incarnation| Frame::Refuse { incarnation, reason: RefuseReason::GivenUp };
    assert_eq!(net.inject(0, &packet(genuine, &refuse(101))), Ok(()));
    let stranger = Header { token: 9, number: 1001, ..genuine };
    assert_eq!(net.inject(0, &packet(stranger, &refuse(100))), Err(DropReason::Token));
    assert!(!knows(&net, 0));
    net.send(0, 1000);
    net.settle(1000);
}

/// What is kept of them is bounded, and takes no place from those that live.
#[test]
fn many_that_were_given_up_are_forgotten() {
    let mut net = net(1, None);
    net.restart(0, 100, &Config { max_connections: 3, ..Config::default() });
    let host = &mut net.hosts[0];
    let connect = |host: &mut crate::net::Host, endpoint: u32| -> ConnId {
        let remote = Remote { endpoint, incarnation: 7, secret: secret(1, 200) };
        host.proto.connect(Time(1), remote, &net.rails[0]).expect("room")
    };
    let all: Vec<ConnId> = (100..2000)
        .map(|endpoint| {
            let id = connect(host, endpoint);
            host.proto.give_up(Time(1), id, &mut host.app);
            assert_eq!(host.proto.find(endpoint, 7), None);
            id
        })
        .collect();
    let kept = all.iter().filter(|id| !host.proto.describe(**id).contains("is over")).count();
    assert_eq!(kept, 1024);
    assert!(host.proto.poll_event().is_none(), "none was refused for want of room");
    // One that was given up can be met anew, if the layer above wants that.
    let again = connect(host, 1999);
    assert_eq!(host.proto.find(1999, 7), Some(again));
    assert!(host.proto.describe(all[1899]).contains("is over"));
}
