//! Cable probes: a vector put together by hand from the page, damaged probes, and hostile bodies.

use proptest::prelude::*;
use tasuki_wire::{
    CABLE_HEAD_LEN, CableHello, CableKind, CableNic, CableProbe, CableState, Discovery, DropReason,
};

fn probe(body: &[u8]) -> Vec<u8> {
    let sender = CableNic { host: 3, nic: 2 };
    let mut bytes = Vec::new();
    let probe = CableProbe {
        kind: CableKind::Hello,
        number: 7,
        run: 0x0102_0304_0506_0708,
        cluster: 0xaabb_ccdd,
        sender,
        host_name: "n3",
        nic_name: "eth2",
        body,
    };
    probe.emit(&mut bytes).expect("short names");
    bytes
}

/// The fields are where the page says, and the checksum is computed bit by bit.
#[test]
fn a_probe_is_as_on_the_page() {
    let mut expected =
        b"TSKP\x01\x01\x31\x00\0\0\0\0\x07\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\xdd\xcc\xbb\xaa".to_vec();
    expected.extend(b"\x03\0\x02\0\x02\x04\0\0\0\0\0\0n3eth2abc");
    let without: Vec<u8> = expected[..8].iter().chain(&expected[12..]).copied().collect();
    let mut crc = u32::MAX;
    for byte in without {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    expected[8..12].copy_from_slice(&(!crc).to_le_bytes());
    assert_eq!(probe(b"abc"), expected);
    let read = CableProbe::parse(&expected).expect("a probe");
    assert_eq!((read.host_name, read.nic_name, read.body, read.number), ("n3", "eth2", &b"abc"[..], 7));
}

#[test]
fn damage_is_seen_and_padding_is_not_read() {
    let bytes = probe(b"body");
    let mut padded = bytes.clone();
    padded.resize(1500, 0xee);
    assert_eq!(CableProbe::parse(&padded).map(|probe| probe.body), Ok(&b"body"[..]));
    for bit in 0..bytes.len() * 8 {
        let mut damaged = padded.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(CableProbe::parse(&damaged).is_err(), "bit {bit}");
    }
    for cut in 0..bytes.len() {
        assert!(CableProbe::parse(&bytes[..cut]).is_err(), "cut to {cut}");
    }
    assert_eq!(CableProbe::parse(&bytes[..CABLE_HEAD_LEN - 1]), Err(DropReason::Short));
}

fn nic() -> impl Strategy<Value = CableNic> {
    (any::<u16>(), any::<u16>()).prop_map(|(host, nic)| CableNic { host, nic })
}

proptest! {
    #[test]
    fn hellos_go_round(
        leaving: bool,
        heard in proptest::collection::vec(nic(), 0..5),
        states in proptest::collection::vec((any::<u16>(), any::<u64>(),
            proptest::collection::vec((any::<u16>(), nic()), 0..4)), 0..5),
    ) {
        let states = states.into_iter().map(|(host, stamp, dead)| CableState { host, stamp, dead }).collect();
        let hello = CableHello { leaving, heard, states };
        prop_assert_eq!(CableHello::parse(&hello.emit(1400)), Ok(hello.clone()));
        // With less room something is left out, and the rest can be read.
        for room in [5, 20, 40] {
            let body = hello.emit(room);
            prop_assert!(body.len() <= room);
            prop_assert!(CableHello::parse(&body).is_ok());
        }
    }

    #[test]
    fn anything_is_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = CableHello::parse(&bytes);
        let _ = CableProbe::parse(&bytes);
        let mut headed = b"TSKP\x01\x01".to_vec();
        headed.extend(&bytes);
        let _ = CableProbe::parse(&headed);
    }
}

fn discovery() -> Discovery<'static> {
    let mac = [2, 0x54, 0, 3, 0, 2];
    let sender = CableNic { host: 3, nic: 2 };
    Discovery { number: 7, run: 0x0102_0304_0506_0708, sender, host_name: "n3", nic_name: "eth2", mac }
}

#[test]
fn a_discovery_goes_round_and_is_a_probe_of_kind_5_without_a_cluster() {
    let mut bytes = Vec::new();
    discovery().emit(&mut bytes).expect("short names");
    assert_eq!((bytes[5], &bytes[24..28], &bytes[46..]), (5, &[0; 4][..], &discovery().mac[..]));
    bytes.resize(60, 0xee);
    assert_eq!(Discovery::parse(&bytes), Ok(discovery()), "padding is not read");
}

#[test]
fn what_is_no_discovery_is_dropped_with_its_reason() {
    assert_eq!(Discovery::parse(&probe(&[2, 0, 0, 0, 0, 1])), Err(DropReason::FrameType), "a hello");
    let whole = CableProbe {
        kind: CableKind::Discovery,
        number: 0,
        run: 1,
        cluster: 0,
        sender: CableNic { host: 1, nic: 1 },
        host_name: "n1",
        nic_name: "eth1",
        body: &[2, 0, 0, 0, 0, 1],
    };
    let read = |probe: CableProbe| {
        let mut bytes = Vec::new();
        probe.emit(&mut bytes).expect("short names");
        Discovery::parse(&bytes).map(|found| found.mac)
    };
    assert_eq!(read(whole), Ok([2, 0, 0, 0, 0, 1]));
    assert_eq!(read(CableProbe { cluster: 1, ..whole }), Err(DropReason::Greeting));
    for sender in [CableNic { host: 0, nic: 1 }, CableNic { host: 1, nic: 0 }] {
        assert_eq!(read(CableProbe { sender, ..whole }), Err(DropReason::Greeting));
    }
    for mac in [[0; 6], [1, 0, 0x5e, 0, 0, 1], [0xff; 6]] {
        assert_eq!(read(CableProbe { body: &mac, ..whole }), Err(DropReason::Greeting), "{mac:?}");
    }
    for body in [&[2, 0, 0, 0, 0][..], &[2, 0, 0, 0, 0, 1, 0], &[]] {
        assert_eq!(read(CableProbe { body, ..whole }), Err(DropReason::Length), "{body:?}");
    }
}
