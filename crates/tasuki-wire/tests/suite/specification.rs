//! `docs/reference/wire.md` and the code that quotes it agree.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::path::Path;

use tasuki_wire::{
    Carriage, Data, DropReason, Frame, Greeting, HEADER_LEN, Lane, Lanes, Packet, Rail, RailList, Rails,
    Secret, Start,
};

use crate::independent::around;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/wire.md");
    std::fs::read_to_string(path).expect("the specification")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sections by the anchor of their heading.
fn sections(page: &str) -> BTreeMap<String, String> {
    let mut sections = BTreeMap::new();
    let mut anchor = String::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            anchor = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-").replace(',', "");
        }
        sections.entry(anchor.clone()).or_insert_with(String::new).push_str(&format!("{line}\n"));
    }
    sections.into_iter().map(|(anchor, text)| (anchor, one_line(&text))).collect()
}

/// The cells of the first table below the heading, row by row.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let below = page.split(&format!("{heading}\n")).nth(1).expect("the heading");
    let mut rows: Vec<Vec<String>> = below
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect();
    rows.drain(..2);
    rows
}

/// A quotation: the lines `//# ...` below a line `//= docs/reference/wire.md#section`.
fn quotations(source: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(anchor) = line.strip_prefix("//= docs/reference/wire.md#") {
            found.push((anchor.to_owned(), String::new()));
        } else if let Some(text) = line.strip_prefix("//# ") {
            let (_, quote) = found.last_mut().expect("a quotation names its section first");
            quote.push_str(&format!("{text} "));
        }
    }
    found
}

#[test]
fn quotations_are_in_the_section_that_they_name() {
    let page = page();
    let sections = sections(&page);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut count = 0;
    for entry in std::fs::read_dir(sources).expect("the sources") {
        let path = entry.expect("an entry").path();
        for (anchor, quote) in quotations(&std::fs::read_to_string(&path).expect("a source file")) {
            let section = sections.get(&anchor).unwrap_or_else(|| panic!("{path:?}: no section {anchor}"));
            let quote = one_line(&quote);
            assert!(!quote.is_empty() && section.contains(&quote), "{path:?}: not in {anchor}: {quote}");
            count += 1;
        }
    }
    assert!(count >= 25, "only {count} quotations were found");
}

#[test]
fn the_reasons_are_those_of_the_page_in_its_order() {
    let page = page();
    let rows = table(&page, "## Malformed input");
    let names: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let known: Vec<&str> = DropReason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names, known);
    for (place, reason) in DropReason::ALL.iter().enumerate() {
        assert_eq!(reason.index(), place);
    }
}

#[test]
fn the_sizes_are_those_of_the_page() {
    let page = page();
    let rows = table(&page, "## Sizes");
    assert_eq!(rows.len(), 7);
    let worst =
        Data { position: u64::MAX >> 1, seq: u64::MAX, offset: u64::MAX >> 1, early: u64::MAX, payload: &[] };
    let usual = Data { position: 65535, seq: 65535, offset: (16 << 20) - 1, early: 0, payload: &[] };
    for row in rows {
        let carriage = match row[1].as_str() {
            "raw" => Carriage::Ethernet,
            "UDP over IPv4" => Carriage::UdpV4,
            "UDP over IPv6" => Carriage::UdpV6,
            other => panic!("unknown lane {other}"),
        };
        let packet = carriage.packet_len(row[0].parse().expect("an MTU"));
        let room = packet - HEADER_LEN;
        let said: Vec<usize> = row[2..].iter().map(|cell| cell.parse().expect("a size")).collect();
        assert_eq!(said, [packet, worst.fit(room), usual.fit(room)], "{row:?}");
        assert_eq!(worst.fit(room), room - Data::HEAD_MAX);
    }
}

/// The largest heads and the largest greeting have the sizes that the page states.
#[test]
fn the_largest_frames_are_those_of_the_page() {
    let most = u64::MAX;
    let start = Start {
        position: most - 1,
        seq: most,
        tag: Some(most),
        internal: true,
        data: Some(most),
        remote_key: Some(most),
        charged: true,
        ack: true,
        len: most,
        early: most,
        payload: &[1; 256],
    };
    assert_eq!(Frame::Start(start).encoded_len(), Ok(Start::HEAD_MAX + 256));

    let rails: Vec<Rail> = (0..32).map(rail).collect();
    let greeting = Greeting {
        addressee: most,
        proof: most,
        incarnation: most,
        endpoint: u32::MAX,
        name: u32::MAX,
        secret: Secret([255; 16]),
        identity: Ipv6Addr::LOCALHOST,
        port: u16::MAX,
        ack_delay_us: u32::MAX,
        rails: Rails { change: most, list: RailList::new(&rails) },
    };
    let len = HEADER_LEN + Frame::Hello(greeting).encoded_len().unwrap();
    assert!(page().contains(&format!("The largest greeting (32 rails) with its header takes {len} bytes")));
    assert!(len <= Carriage::UdpV6.packet_len(tasuki_wire::MIN_MTU));
}

fn rail(rail: u8) -> Rail {
    let (address, mac) = (Ipv6Addr::LOCALHOST, [255; 6]);
    Rail { rail, lanes: Lanes::NONE.with(Lane::Udp), mtu: 9000, rate_mbps: 25_000, address, port: 1, mac }
}

/// Every frame type of the page's table is parsed, and no other: a type alone in its packet is truncated or
/// whole, never unknown.
#[test]
fn the_frame_types_are_those_of_the_page() {
    let page = page();
    let known: Vec<u8> = table(&page, "## Frames")
        .iter()
        .map(|row| u8::from_str_radix(row[0].trim_start_matches("0x"), 16).expect("a frame type"))
        .collect();
    assert_eq!(known.len(), 21);
    for kind in 0..=255 {
        let unknown = Packet::parse(&around(&[kind], 9)).err() == Some(DropReason::FrameType);
        assert_eq!(unknown, !known.contains(&kind), "type {kind:#04x}");
    }
}

/// The magic, the version, the size of the header and the place of each field: the table of the page adds up.
#[test]
fn the_header_is_that_of_the_page() {
    let page = page();
    let mut end = 0;
    for row in table(&page, "## Packet") {
        assert_eq!(row[0].parse::<usize>().expect("an offset"), end, "{row:?}");
        end += row[1].parse::<usize>().expect("a size");
        match row[2].as_str() {
            "magic" => assert_eq!(row[3], format!("{:#04x}", tasuki_wire::MAGIC)),
            "version" => assert_eq!(row[3], tasuki_wire::VERSION.to_string()),
            "endpoint" => assert_eq!(row[0], tasuki_wire::ENDPOINT_OFFSET.to_string()),
            _ => {}
        }
    }
    assert_eq!(end, HEADER_LEN);
}
