//! Packet sockets and their ring on a cable between two network namespaces. Needs root.

use nix::{
    sched::{CloneFlags, CpuSet, sched_getcpu, sched_setaffinity, unshare},
    unistd::Pid,
};
use std::{
    error::Error,
    fs::File,
    os::fd::AsFd,
    slice, thread,
    time::{Duration, Instant},
};
use tasuki_sys::{
    netlink::{Netlink, VethEnd},
    netns::within,
    packet::{Frame, PacketKind, PacketRing, PacketSocket, RingSize},
};

/// IEEE 802 Local Experimental 2, which nothing else in these tests uses.
const ETHERTYPE: u16 = 0x88B6;
const MACS: [[u8; 6]; 2] = [[0x02, 0, 0, 0, 0, 1], [0x02, 0, 0, 0, 0, 2]];

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn namespace() -> Outcome<File> {
    let maker = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        File::open("/proc/thread-self/ns/net")
    });
    Ok(maker.join().map_err(|_| "the thread panicked")??)
}

/// Two namespaces with an interface `e0` each, joined; the kernel removes them with the descriptors.
fn cable(mtu: u32) -> Outcome<Option<[File; 2]>> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root to make network namespaces");
        return Ok(None);
    }
    let ends = [namespace()?, namespace()?];
    let end = |which: usize| VethEnd {
        name: "e0",
        mac: Some(MACS[which]),
        mtu,
        namespace: Some(ends[which].as_fd()),
    };
    Netlink::open()?.add_veth(&end(0), &end(1))?;
    for namespace in &ends {
        within(namespace.as_fd(), || -> Outcome {
            let mut netlink = Netlink::open()?;
            let index = netlink.link("e0")?.index;
            Ok(netlink.set_up(index, true)?)
        })??;
    }
    Ok(Some(ends))
}

fn socket(namespace: &File) -> Outcome<PacketSocket> {
    Ok(within(namespace.as_fd(), || PacketSocket::open("e0", ETHERTYPE))??)
}

/// A socket that sends. It must be bound, because it would not know by which interface otherwise.
fn sender(namespace: &File) -> Outcome<PacketSocket> {
    let socket = socket(namespace)?;
    socket.bind()?;
    Ok(socket)
}

fn ring(namespace: &File, slots: u32) -> Outcome<PacketRing> {
    Ok(socket(namespace)?.into_ring(RingSize { slots })?)
}

fn frame(to: [u8; 6], from: [u8; 6], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&to[..], &from[..], &ethertype.to_be_bytes()[..], payload].concat()
}

/// A wait for a frame that takes longer has failed: no working machine needs so much.
const LIMIT: Duration = Duration::from_secs(20);

/// Waits for a frame. The kernel fills slots of the ring on several processors at once, so that poll(2) may
/// report a later slot when the next one is not filled yet.
fn next(ring: &mut PacketRing) -> Outcome<Frame<'_>> {
    let start = Instant::now();
    while !ring.has_frame() {
        if start.elapsed() > LIMIT {
            return Err("no frame came".into());
        }
        ring.wait(LIMIT)?;
    }
    ring.next_frame().ok_or_else(|| "no frame came".into())
}

fn number_of(frame: &[u8]) -> u32 {
    u32::from_be_bytes([frame[14], frame[15], frame[16], frame[17]])
}

/// Sends frames until the first of them comes: on a busy machine the kernel loses frames before they come to
/// a ring, since what others send on this processor stands in the same queue. `is_past`: what may come too.
fn deliver(
    sender: &PacketSocket,
    receiver: &mut PacketRing,
    frames: &[Vec<u8>],
    is_past: impl Fn(&[u8]) -> bool,
    check: impl Fn(&Frame),
) -> Outcome {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        frames.iter().try_for_each(|frame| sender.send(frame).map(drop))?;
        receiver.wait(Duration::from_millis(100))?;
        while let Some(got) = receiver.next_frame() {
            if got[..] == frames[0] {
                check(&got);
                return Ok(());
            }
            assert!(is_past(&got), "{:?} was not awaited", &got[..14]);
        }
    }
    Err("no frame came".into())
}

/// Sends a frame with a number until it comes, whatever comes before.
fn exchange(sender: &PacketSocket, receiver: &mut PacketRing, number: u32) -> Outcome {
    let frame = frame(MACS[1], MACS[0], ETHERTYPE, &number.to_be_bytes());
    deliver(sender, receiver, &[frame], |_| true, |_| ())
}

/// Keeps this thread on its processor: frames that a thread sends from two processors may overtake each
/// other.
fn stay_on_processor() -> Outcome {
    let mut set = CpuSet::new();
    set.set(sched_getcpu()?)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

#[test]
fn an_interface_is_described_as_it_was_made() -> Outcome {
    let Some(ends) = cable(1400)? else { return Ok(()) };
    for (end, mac) in ends.iter().zip(MACS) {
        let facts = socket(end)?.interface();
        assert_eq!((facts.mac, facts.mtu), (mac, 1400));
    }
    let missing = within(ends[0].as_fd(), || PacketSocket::open("e9", ETHERTYPE))?;
    let message = missing.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(message.contains("e9") && message.contains("no such interface"), "{message}");
    Ok(())
}

#[test]
fn frames_arrive_whole_in_order_and_none_of_another_kind() -> Outcome {
    let Some([here, there]) = cable(9000)? else { return Ok(()) };
    stay_on_processor()?;
    let (sender, mut receiver) = (sender(&here)?, ring(&there, 64)?);
    sender.set_qdisc_bypass(true)?;
    // Every length around the limits, and after each a frame of another ethertype, which must not be
    // received.
    let mut past: Vec<Vec<u8>> = Vec::new();
    for length in [0, 1, 45, 46, 47, 1499, 1500, 8999, 9000] {
        let payload: Vec<u8> = (0..length).map(|index| (index * 7 + length) as u8).collect();
        let [own, other] = [0, 1].map(|kind| frame(MACS[1], MACS[0], ETHERTYPE + kind, &payload));
        deliver(
            &sender,
            &mut receiver,
            &[own.clone(), other],
            |got| past.iter().any(|frame| got == frame),
            |got| {
                assert_eq!(got.length(), length + 14, "a veth does not pad");
                assert_eq!((got.kind(), got.vlan()), (PacketKind::Host, None));
            },
        )?;
        past.push(own);
    }
    while let Some(got) = receiver.next_frame() {
        assert!(past.iter().any(|frame| got[..] == *frame), "{:?} was not awaited", &got[..14]);
    }
    // A frame that is longer than the MTU and a VLAN tag is refused by the kernel.
    assert!(sender.send(&vec![0; 9000 + 14 + 5]).is_err());
    Ok(())
}

#[test]
fn addressees_and_vlan_tags_are_told() -> Outcome {
    let Some([here, there]) = cable(1500)? else { return Ok(()) };
    stay_on_processor()?;
    let (sender, mut receiver) = (sender(&here)?, ring(&there, 64)?);
    let mut past: Vec<Vec<u8>> = Vec::new();
    for (to, kind) in [
        ([0xFF; 6], PacketKind::Broadcast),
        ([0x03, 0, 0, 0, 0, 9], PacketKind::Multicast),
        ([0x02, 0, 0, 0, 0, 9], PacketKind::OtherHost),
    ] {
        let frame = frame(to, MACS[0], ETHERTYPE, &[1]);
        let check = |got: &Frame| assert_eq!(got.kind(), kind);
        deliver(
            &sender,
            &mut receiver,
            slice::from_ref(&frame),
            |got| past.iter().any(|one| got == one),
            check,
        )?;
        past.push(frame);
    }
    Ok(())
}

#[test]
fn a_full_ring_drops_and_counts_and_goes_on() -> Outcome {
    let Some([here, there]) = cable(1500)? else { return Ok(()) };
    stay_on_processor()?;
    let (sender, mut receiver) = (sender(&here)?, ring(&there, 32)?);
    let slots = receiver.slots();
    // On a busy machine the kernel loses frames before they come to the ring: what others send on this
    // processor stands in the same queue.
    let (mut sent, mut frames, mut drops) = (0_u32, 0, 0);
    while drops < 10 {
        sender.send(&frame(MACS[1], MACS[0], ETHERTYPE, &sent.to_be_bytes()))?;
        sent += 1;
        let counters = receiver.socket().statistics()?;
        (frames, drops) = (frames + counters.frames, drops + counters.drops);
        assert!(sent < 1_000_000, "{frames} frames came, and {drops} were dropped");
    }
    assert_eq!(frames, slots + drops);
    let mut last = None;
    for _ in 0..slots {
        let number = Some(number_of(&next(&mut receiver)?));
        assert!(last < number, "{last:?} before {number:?}");
        last = number;
    }
    assert!(last.is_some_and(|last| last + 10 < sent), "the oldest are kept: {last:?} of {sent}");
    // More frames than the ring has slots, so every slot must have been given back.
    receiver.socket().statistics()?;
    for number in sent..sent + 3 * slots {
        exchange(&sender, &mut receiver, number)?;
    }
    assert_eq!(receiver.socket().statistics()?.drops, 0, "reading resets the counters");
    Ok(())
}
