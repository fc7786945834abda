//! Hostile input: nothing may panic, and nothing damaged may be accepted.

use proptest::collection::vec;
use proptest::prelude::*;
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;
use tasuki_wire::{Data, DropReason, Frame, Greeting, Header, Lane, Packet, PacketBuilder, Path, Secret};

use crate::corpus;
use crate::independent::{around, seal};
use crate::judged::judge;

/// Valid packets of all kinds: those of the corpus, without padding of a NIC.
fn valid() -> Vec<Vec<u8>> {
    let cases = corpus::all().into_iter().filter(|case| case.expect == "ok");
    cases
        .map(|mut case| {
            let length = Packet::parse(&case.bytes).expect("a valid packet").length();
            case.bytes.truncate(usize::from(length));
            case.bytes
        })
        .collect()
}

/// A packet of `len` bytes full of payload.
fn full(len: usize) -> Vec<u8> {
    let header =
        Header { path: Path { rail: 1, lane: Lane::Raw }, number: 77, endpoint: 3, peer: 4, token: 0xfeed };
    let mut buffer = vec![0; len];
    let mut builder = PacketBuilder::new(&mut buffer, header).unwrap();
    let data = Data { position: 1 << 20, seq: 12, offset: 1 << 19, early: 0, payload: &[] };
    let payload: Vec<u8> = (0..data.fit(builder.room())).map(|i| (i * 31 % 251) as u8).collect();
    builder.push(&Frame::Data(Data { payload: &payload, ..data })).unwrap();
    assert_eq!(builder.finish(), Ok(len));
    buffer
}

fn every_flip_is_rejected(packet: &[u8], nic_padding: usize) {
    let mut damaged = packet.to_vec();
    damaged.resize(packet.len() + nic_padding, 0);
    assert!(Packet::parse(&damaged).is_ok());
    for bit in 0..packet.len() * 8 {
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Packet::parse(&damaged).is_err(), "bit {bit} of {packet:02x?}");
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn every_flipped_bit_is_rejected() {
    for packet in valid() {
        every_flip_is_rejected(&packet, 0);
        // With bytes behind the packet, a damaged length may also be too long.
        every_flip_is_rejected(&packet, 1500);
    }
    every_flip_is_rejected(&full(1500), 0);
    every_flip_is_rejected(&full(9000), 0);
}

/// CRC32C detects any damage within 32 bits: bursts of every length up to that are tried, at every place.
#[test]
fn every_short_burst_is_rejected() {
    let packet = full(200);
    for start in 0..packet.len() * 8 {
        for len in 2..=32 {
            let mut damaged = packet.clone();
            for bit in start..(start + len).min(packet.len() * 8) {
                damaged[bit / 8] ^= 1 << (bit % 8);
            }
            assert!(Packet::parse(&damaged).is_err(), "{len} bits from {start}");
        }
    }
}

#[test]
fn every_cut_off_packet_is_rejected() {
    for packet in valid() {
        for len in 0..packet.len() {
            let expected = if len < 32 { DropReason::Short } else { DropReason::Length };
            assert_eq!(judge(&packet[..len]), Err(expected));
        }
    }
}

const EDGES: [u8; 12] = [0, 1, 2, 0x10, 0x11, 0x12, 0x3f, 0x40, 0xf7, 0xf8, 0xfe, 0xff];

/// Changes the bytes behind the header in one of the ways in which parsers go wrong.
fn mutate(random: &mut Random, packet: &mut Vec<u8>, others: &[Vec<u8>]) {
    let at = 32 + random.index(packet.len() - 32);
    match random.index(6) {
        0 => packet.truncate(at.max(33)),
        1 => packet[at] ^= 1 << random.index(8),
        2 => packet[at] = random.pick(&EDGES),
        3 => packet.insert(at, random.pick(&EDGES)),
        4 => drop(packet.drain(at..(at + 1 + random.index(8)).min(packet.len()))),
        _ => packet.extend_from_slice(&others[random.index(others.len())][32..]),
    }
    if packet.len() < 33 {
        packet.push(1);
    }
}

const REPLAY: Replay = Replay {
    variable: "TASUKI_WIRE_SEED",
    command: "cargo test -p tasuki-wire --test suite mutants_never_panic",
};

/// Mutants have a valid checksum and length, so that their frames are read.
#[test]
fn mutants_never_panic() {
    let originals = valid();
    let mut verdicts = vec![0u64; DropReason::COUNT + 1];
    for seed in REPLAY.seeds(40_000) {
        let mut random = Random::new(seed);
        let mut packet = originals[random.index(originals.len())].clone();
        for _ in 0..=random.index(4) {
            mutate(&mut random, &mut packet, &originals);
        }
        packet.truncate(4000);
        let length = (packet.len() as u16).to_le_bytes();
        packet[4..6].copy_from_slice(&length);
        seal(&mut packet);
        let verdict = std::panic::catch_unwind(|| judge(&packet))
            .unwrap_or_else(|_| panic!("{}", REPLAY.sentence(seed)));
        verdicts[verdict.map_or_else(|reason| reason.index(), |_| DropReason::COUNT)] += 1;
    }
    if !REPLAY.is_default() {
        return;
    }
    // The mutants must have reached everything: acceptance, and rejection for every reason behind the header.
    let seen = |reason: DropReason| verdicts[reason.index()] > 0;
    let (first, last) = (DropReason::FrameType.index(), DropReason::Handshake.index());
    for reason in &DropReason::ALL[first..=last] {
        assert!(seen(*reason), "no mutant was dropped for {reason}: {verdicts:?}");
    }
    assert!(verdicts[DropReason::COUNT] > 1000, "{verdicts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        let _ = judge(&bytes);
    }

    /// Random bytes behind a valid header, with the first byte of a frame in front.
    #[test]
    fn arbitrary_frames_never_panic(kind in 0..0x1du8, bytes in vec(any::<u8>(), 0..300), peer in 0..2u32) {
        let frames: Vec<u8> = std::iter::once(kind).chain(bytes).collect();
        let _ = judge(&around(&frames, peer));
    }

    /// Small bytes make small numbers, with which the parser gets further.
    #[test]
    fn small_frames_never_panic(bytes in vec(prop_oneof![0..0x1cu8, 0..4u8, 0xf7..=0xffu8], 1..60)) {
        let _ = judge(&around(&bytes, 9));
    }

    /// A sender that does not have the address is rejected, whatever it guesses.
    #[test]
    fn forgers_are_found_out(
        secret in any::<[u8; 16]>(),
        guess in any::<[u8; 16]>(),
        own in 0..9u32,
        to in 0..9u32,
    ) {
        let (secret, guess) = (Secret(secret), Secret(guess));
        let path = Path { rail: 0, lane: Lane::Udp };
        let header = Header { path, number: 0, endpoint: to, peer: 1, token: guess.token() };
        let expected = if own != to { Err(DropReason::Endpoint) } else { Err(DropReason::Token) };
        if own != to || guess.token() != secret.token() {
            prop_assert_eq!(header.check_destination(own, &secret), expected);
        }
        let known = Header { endpoint: own, token: secret.token(), ..header };
        prop_assert_eq!(known.check_destination(own, &secret), Ok(()));
    }
}

/// Every bit of the token and of the endpoint id counts.
#[test]
fn near_misses_are_found_out() {
    let secret = Secret(*b"0123456789abcdef");
    let path = Path { rail: 0, lane: Lane::Udp };
    let good = Header { path, number: 0, endpoint: 1, peer: 1, token: secret.token() };
    assert_eq!(good.check_destination(1, &secret), Ok(()));
    for bit in 0..64 {
        let forged = Header { token: good.token ^ 1 << bit, ..good };
        assert_eq!(forged.check_destination(1, &secret), Err(DropReason::Token), "bit {bit}");
    }
    for bit in 0..32 {
        let stray = Header { endpoint: good.endpoint ^ 1 << bit, ..good };
        assert_eq!(stray.check_destination(1, &secret), Err(DropReason::Endpoint), "bit {bit}");
    }
}

/// A greeting is checked for all of the second half of the secret, and for the incarnation.
#[test]
fn greetings_are_for_one_incarnation() {
    let secret = Secret(std::array::from_fn(|i| i as u8 + 1));
    let hello = corpus::all().into_iter().find(|case| case.name == "ok-hello").expect("the hello");
    let packet = Packet::parse(&hello.bytes).unwrap();
    let Some(Frame::Hello(greeting)) = packet.frames().next() else { panic!("a hello is in front") };
    let good = Greeting { addressee: 500, proof: secret.proof(), ..greeting };
    assert_eq!(good.check(500, &secret), Ok(()));
    assert_eq!(good.check(501, &secret), Err(DropReason::Incarnation));
    for bit in 0..64 {
        let forged = Greeting { proof: good.proof ^ 1 << bit, ..good };
        assert_eq!(forged.check(500, &secret), Err(DropReason::Incarnation));
    }
    assert_eq!(secret.token(), 0x0807_0605_0403_0201);
    assert_eq!(secret.proof(), 0x100f_0e0d_0c0b_0a09);
    assert!(!format!("{good:?}").contains("[1, 2"), "secrets are not printed");
}
