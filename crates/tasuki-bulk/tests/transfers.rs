//! Both sides over a simulated socket that loses, repeats, reorders, holds back and damages datagrams. Truth
//! from outside: the bytes that were sent, and that nothing is copied where nothing was lost.
//! `TASUKI_BULK_SEED=s` replays one seed, `TASUKI_BULK_SEEDS=n` runs more.

use std::collections::VecDeque;

use tasuki_bulk::{ControlMessage, Placed, Round, RoundRx, RoundTx, Sizes};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

const REPLAY: Replay =
    Replay { variable: "TASUKI_BULK_SEED", command: "cargo test -p tasuki-bulk --test transfers random" };

/// What may happen to a datagram, percent.
#[derive(Clone, Copy, Default)]
struct Faults {
    lost: u64,
    twice: u64,
    swapped: u64,
    damaged: u64,
    strange: u64,
}

/// What a transfer has cost.
#[derive(Default)]
struct Took {
    placed: Placed,
    passes: u16,
    sent_bytes: usize,
}

/// The kernel's part: puts datagrams into slots, as recvmmsg does with two iovecs each; returns their
/// lengths, as with MSG_TRUNC.
fn receive(
    socket: &mut VecDeque<Vec<u8>>,
    rx: &mut RoundRx,
    most: usize,
    into: &mut [u8],
    over: &mut [u8],
) -> Vec<usize> {
    let (round, slots) = (*rx.round(), rx.slots(most).to_vec());
    let part = round.sizes().first();
    let mut lens = Vec::new();
    for (at, slot) in slots.into_iter().enumerate() {
        let Some(datagram) = socket.pop_front() else { break };
        let place = round.place(slot);
        let head = datagram.len().min(place.len());
        into[place.start..place.start + head].copy_from_slice(&datagram[..head]);
        let tail = &datagram[head..datagram.len().min(part).max(head)];
        over[at * part..at * part + tail.len()].copy_from_slice(tail);
        lens.push(datagram.len());
    }
    lens
}

/// Transfers `bytes` in one round; `lose` says which packets the first pass loses.
fn transfer(
    sizes: Sizes,
    bytes: &[u8],
    batch: usize,
    faults: Faults,
    random: &mut Random,
    lose: impl Fn(u16) -> bool,
) -> Took {
    let round = Round::new(sizes, bytes.len() as u64).expect("fits");
    let (mut tx, mut rx) = (RoundTx::new(round), RoundRx::new(round));
    let mut into = vec![0xee; bytes.len()];
    let mut over = vec![0xdd; batch * sizes.first()];
    let checks: Vec<u32> = (0..round.packets()).map(|seq| crc32c::crc32c(&bytes[round.place(seq)])).collect();
    let mut took = Took::default();
    let mut socket = VecDeque::new();
    loop {
        let all: Vec<u16> = tx.next(usize::MAX).collect();
        for &seq in &all {
            let datagram = bytes[round.place(seq)].to_vec();
            took.sent_bytes += datagram.len();
            if (tx.pass() == 0 && lose(seq)) || random.chance(faults.lost) {
                continue;
            }
            for _ in 0..1 + u64::from(random.chance(faults.twice)) {
                let mut datagram = datagram.clone();
                if random.chance(faults.damaged) {
                    let at = random.below(datagram.len() as u64) as usize;
                    datagram[at] ^= 1;
                }
                socket.push_back(datagram);
            }
            if random.chance(faults.strange) {
                let len = random.below(2 * sizes.first() as u64) as usize;
                socket.push_back(vec![0x55; len]);
            }
            if random.chance(faults.swapped) && socket.len() > 1 {
                let (a, b) = (random.below(socket.len() as u64) as usize, socket.len() - 1);
                socket.swap(a, b);
            }
        }
        assert!(tx.sent(all.len()));
        took.passes += 1;
        while !rx.is_complete() {
            let lens = receive(&mut socket, &mut rx, batch, &mut into, &mut over);
            if lens.is_empty() {
                break;
            }
            let placed = rx.place(&lens, &mut into, &mut over);
            took.placed.new += placed.new;
            took.placed.useless += placed.useless;
            took.placed.moved += placed.moved;
        }
        if rx.is_complete() && rx.verify(&checks, &into) == 0 {
            break;
        }
        let again = ControlMessage::Resend { round: 1, pass: tx.pass(), missing: rx.missing() };
        let mut message = Vec::new();
        again.write(&mut message);
        let Some(ControlMessage::Resend { pass, missing, .. }) = ControlMessage::read(&message) else {
            panic!("{again:?}")
        };
        assert!(tx.resend(pass, &missing), "{missing:?}");
        assert!(took.passes < 1000, "for ever");
    }
    assert!(into == bytes, "other bytes than were given");
    took
}

fn some_bytes(len: u64, random: &mut Random) -> Vec<u8> {
    (0..len).map(|_| random.next_u64() as u8).collect()
}

#[test]
fn without_loss_nothing_is_moved_and_nothing_but_the_message_is_sent() {
    let mut random = Random::new(1);
    for (first, packets, len) in
        [(1472, 368, 474_000), (8972, 1000, 8_400_000), (8000, 8, 56_000), (1472, 368, 1), (100, 3, 250)]
    {
        let sizes = Sizes::new(first, packets).unwrap();
        let bytes = some_bytes(len, &mut random);
        for batch in [1, 7, 64] {
            let took = transfer(sizes, &bytes, batch, Faults::default(), &mut random, |_| false);
            assert_eq!(
                (took.placed.moved, took.placed.useless, took.passes),
                (0, 0, 1),
                "{first} {packets} {len}"
            );
            assert_eq!(took.sent_bytes as u64, len, "zero bytes of header");
        }
    }
}

#[test]
fn any_one_packet_may_be_lost_and_is_sent_again_alone() {
    let sizes = Sizes::new(200, 40).unwrap();
    let mut random = Random::new(2);
    let bytes = some_bytes(7000, &mut random);
    let round = Round::new(sizes, 7000).unwrap();
    for lost in 0..round.packets() {
        for batch in [1, 8, 64] {
            let took = transfer(sizes, &bytes, batch, Faults::default(), &mut random, |seq| seq == lost);
            let sent = 7000 + round.place(lost).len();
            assert_eq!(
                (took.passes, took.sent_bytes, took.placed.useless),
                (2, sent, 0),
                "{lost} of {batch}"
            );
            // Only packets that came in the same call, behind the lost one, may have been copied.
            assert!(took.placed.moved <= batch * 200, "{lost}: {}", took.placed.moved);
        }
    }
    let last = round.packets() - 1;
    let took = transfer(sizes, &bytes, 8, Faults::default(), &mut random, |seq| seq == last);
    assert_eq!(took.placed.moved, 0, "behind the last there is nothing to be moved");
    let took = transfer(sizes, &bytes, 8, Faults::default(), &mut random, |_| true);
    assert_eq!((took.passes, took.sent_bytes, took.placed.moved), (2, 14_000, 0), "all lost");
}

fn random_transfer(seed: u64) {
    let mut random = Random::new(seed);
    let most = [20, 300, 9000][random.below(3) as usize];
    let first = 2 + random.below(most) as u16;
    let packets = 1 + random.below(u64::from((first - 1).min(1000))) as u16;
    let sizes = Sizes::new(first, packets).unwrap();
    let bytes = some_bytes(1 + random.below(sizes.capacity().min(400_000)), &mut random);
    let mut percent = |most: u64| if random.below(2) == 0 { 0 } else { random.below(most) };
    let faults = Faults {
        lost: percent(60),
        twice: percent(40),
        swapped: percent(40),
        damaged: percent(30),
        strange: percent(30),
    };
    let batch = 1 + random.below(80) as usize;
    transfer(sizes, &bytes, batch, faults, &mut random, |_| false);
}

#[test]
fn random_transfers_end_with_the_bytes_that_were_given() {
    REPLAY.each(300, random_transfer);
}
