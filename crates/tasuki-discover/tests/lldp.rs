//! LLDP: a frame put together by the standard, every cut and change of it, and random bytes.

use tasuki_discover::{LldpError, Neighbour};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

fn part(kind: u8, value: &[u8]) -> Vec<u8> {
    let head = u16::from(kind) << 9 | value.len() as u16;
    [&head.to_be_bytes(), value].concat()
}

/// Chassis, port, lifetime, system name, capabilities (a bridge, enabled), a part of an organisation, end.
fn whole() -> Vec<Vec<u8>> {
    vec![
        part(1, &[4, 0, 0x1b, 0x21, 1, 2, 3]),
        part(2, b"\x05ge-0/0/3"),
        part(3, &[0, 120]),
        part(5, b"core\n1.example.org"),
        part(7, &[0, 0x14, 0, 0x04]),
        part(127, &[0, 0x80, 0xc2, 1, 0, 1]),
        part(0, &[]),
    ]
}

#[test]
fn a_switch_is_read_by_the_standard() {
    let mut bytes = whole().concat();
    let neighbour = Neighbour::parse(&bytes).unwrap();
    assert_eq!(neighbour.chassis, "00:1b:21:01:02:03");
    assert_eq!((neighbour.port.as_str(), neighbour.is_switch), ("ge-0/0/3", Some(true)));
    assert_eq!(neighbour.name(), "core?1.example.org", "no control character stays");
    for cut in 0..bytes.len() {
        assert!(Neighbour::parse(&bytes[..cut]).is_err(), "cut to {cut}");
    }
    bytes.resize(200, 0xee);
    assert_eq!(Neighbour::parse(&bytes), Ok(neighbour), "padding is not read");
}

#[test]
fn what_the_standard_forbids_is_refused() {
    let with = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut parts = whole();
        change(&mut parts);
        Neighbour::parse(&parts.concat()).unwrap_err()
    };
    assert_eq!(with(&|parts| parts.swap(0, 1)), LldpError::Order);
    assert_eq!(with(&|parts| parts[2] = part(3, &[0, 0])), LldpError::Leaves);
    assert_eq!(with(&|parts| parts[2] = part(3, &[1])), LldpError::Part);
    assert_eq!(with(&|parts| parts[0] = part(1, &[4])), LldpError::Part);
    assert_eq!(with(&|parts| parts[1] = part(2, &[5; 300])), LldpError::Part);
    assert_eq!(with(&|parts| parts[3] = part(1, &[4, 0, 0, 0, 0, 0, 1])), LldpError::Part);
    assert_eq!(with(&|parts| parts[5] = part(5, b"again")), LldpError::Part);
    assert_eq!(with(&|parts| parts[4] = part(7, &[0, 4])), LldpError::Part);
    assert_eq!(with(&|parts| drop(parts.pop())), LldpError::Truncated);
}

#[test]
fn anything_is_read_without_a_panic_and_leaves_nothing_that_acts_on_a_terminal() {
    let replay =
        Replay { variable: "TASUKI_LLDP", command: "cargo test --release -p tasuki-discover --test lldp" };
    replay.each(20_000, |seed| {
        let mut random = Random::new(seed);
        let mut bytes = whole().concat();
        for _ in 0..random.between(1, 4) {
            let at = random.index(bytes.len());
            bytes[at] = random.next_u64() as u8;
        }
        if random.chance(30) {
            bytes.resize(random.index(1500), 0);
            random.fill(&mut bytes);
        }
        if let Ok(neighbour) = Neighbour::parse(&bytes) {
            let all = [&neighbour.chassis, &neighbour.port, neighbour.name()].map(str::to_owned).concat();
            assert!(!all.chars().any(char::is_control), "{all:?}");
        }
    });
}
