use super::*;
use crate::names::{Code, Data, Kind};
use crate::record::{Block, FaultSum, PageSum, PageWords};
use crate::sharing::Sharing;

const PAGE: u64 = crate::PAGE as u64;
const SECOND: u64 = 1_000_000_000;
const FUNCTION: u64 = 0x500;

/// Code and variables at addresses that the tests name.
struct Known;

impl Names for Known {
    fn code(&self, address: u64) -> Code {
        let line = match address {
            FUNCTION => 10,
            0x510 => 11,
            0x520 => 12,
            _ => return Code::default(),
        };
        Code {
            function: Some("main._omp_fn.0".into()),
            line: Some(("/src/a.c".into(), line)),
            file: "/a".into(),
        }
    }

    fn data(&self, address: u64) -> Option<Data> {
        let variable =
            |name: &str, start: u64, bytes: u64| Data { name: name.into(), range: start..start + bytes };
        let all = [
            variable("left", PAGE, 64),
            variable("right", PAGE + 64, 64),
            variable("grid", 8 * PAGE, 8 * PAGE),
        ];
        all.into_iter().find(|data| data.range.contains(&address))
    }
}

fn region(ns: u64, page_ns: u64, barrier_ns: u64) -> RegionSum {
    RegionSum { function: FUNCTION, times: 3, ns, barrier_ns, lock_ns: 0, page_ns, faults: 1 }
}

fn page(page: u64, faults: u64, read: &[u64], written: &[u64]) -> PageSum {
    let mut words = PageWords::default();
    read.iter().for_each(|&at| words.add(at, false));
    written.iter().for_each(|&at| words.add(at, true));
    PageSum { page, first_in: None, touched: None, faults, early: 0, words: Some(words) }
}

fn fault(at: u64, page: u64, writes: bool, count: u64, ns: u64) -> FaultSum {
    FaultSum { at, region: FUNCTION, page, writes, count, ns }
}

/// Two processes with two threads each. Both write to variables of one page; one reads what the other writes
/// of a grid; memory of the heap comes once.
fn records() -> Vec<Record> {
    let heap = 100 * PAGE;
    let first = Record {
        rank: 0,
        threads: 2,
        ns: 12 * SECOND,
        regions: vec![
            RegionSum { times: 1, ns: 2 * SECOND, ..RegionSum::default() },
            region(10 * SECOND, 2 * SECOND, 0),
        ],
        faults: vec![fault(0x510, PAGE, true, 50, 2 * SECOND)],
        pages: vec![page(PAGE, 50, &[], &[8]), page(9 * PAGE, 20, &[], &[0, 4])],
        blocks: vec![Block { start: heap, bytes: 3 * PAGE, from: 0x520 }],
        untold: 0,
    };
    let second = Record {
        rank: 1,
        threads: 2,
        ns: 12 * SECOND,
        regions: vec![RegionSum::default(), region(10 * SECOND, 4 * SECOND, 5 * SECOND)],
        faults: vec![
            fault(0x510, PAGE, true, 50, SECOND),
            fault(0x520, 9 * PAGE, false, 20, 2 * SECOND),
            fault(0, heap, false, 1, SECOND),
        ],
        pages: vec![
            page(PAGE, 50, &[], &[64]),
            page(9 * PAGE, 20, &[4], &[]),
            PageSum {
                page: heap,
                first_in: None,
                touched: Some((heap, false)),
                faults: 1,
                early: 0,
                words: None,
            },
        ],
        blocks: Vec::new(),
        untold: 3,
    };
    vec![first, second]
}

fn profile() -> Profile {
    let heap = Area { range: 100 * PAGE..200 * PAGE, kind: Kind::Small, name: "small allocations".into() };
    Profile::of("a", &records(), &Known, &[heap])
}

#[test]
fn times_are_shares_of_the_threads_time() {
    let profile = profile();
    assert_eq!((profile.seconds, profile.processes, profile.threads, profile.untold), (12.0, 2, 2, 3));
    let [parallel, between] = &profile.regions[..] else { panic!("{:?}", profile.regions) };
    // 2 processes with 2 threads each, for 10 s: 40 s, in which threads waited for pages for 6 s.
    let waits = Share { pages: 6.0 / 40.0, barriers: 10.0 / 40.0, locks: 0.0 };
    assert_eq!((parallel.place.as_deref(), parallel.waits, profile.waits), (Some("a.c:10"), waits, waits));
    assert_eq!((parallel.times, parallel.seconds), (3, 10.0));
    // A second and two of waiting are spread over two threads each.
    assert_eq!(parallel.computing, [9.0, 3.0]);
    assert_eq!((between.place.as_deref(), between.seconds), (None, 2.0));
}

#[test]
fn pages_count_to_what_is_used_of_them() {
    let profile = profile();
    let told: Vec<_> =
        profile.arrays.iter().map(|array| (&*array.name, array.pages[0].why, array.seconds)).collect();
    let expected = [
        ("left, right", Sharing::FalseSharing, 3.0),
        ("grid", Sharing::Exchanged, 2.0),
        ("memory of a.c:12", Sharing::Once, 1.0),
    ];
    assert_eq!(told, expected);
    let bytes: Vec<u64> = profile.arrays.iter().map(|array| array.bytes).collect();
    assert_eq!(bytes, [128, 8 * PAGE, 3 * PAGE]);
    // The second of eight pages of the grid, of which rank 1 waited.
    let map = &profile.arrays[1].map;
    assert_eq!((map[0].iter().sum::<f64>(), map[1][map[1].len() / 8]), (0.0, 2.0));
}

#[test]
fn lines_are_those_of_faults() {
    let profile = profile();
    let told: Vec<_> =
        profile.lines.iter().map(|line| (&*line.place, &*line.array, line.writes, line.faults)).collect();
    let expected = [
        ("a.c:11", "left, right", true, 100),
        ("a.c:12", "grid", false, 20),
        ("a.c:10", "memory of a.c:12", false, 1),
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_would_help_comes_in_the_order_of_what_it_gains() {
    let profile = profile();
    let told: Vec<_> = profile.advice.iter().map(|advice| (&*advice.about, advice.seconds)).collect();
    let expected =
        [("the region at a.c:10", 6.0), ("left, right", 3.0), ("grid", 2.0), ("memory of a.c:12", 1.0)];
    assert_eq!(told, expected);
    let text = crate::print(&profile);
    assert!(
        text.contains("rank 0 computes 1.5 times as long") && text.contains("4096 bytes apart"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("3 faults more"), "{text}");
}

#[test]
fn names_of_a_program_cannot_break_the_page() {
    let mut profile = profile();
    profile.program = "<script>".into();
    profile.arrays[0].name = "'a<b>'".into();
    let page = crate::page(&profile);
    assert!(!page.contains("<script>") && !page.contains("a<b>") && page.contains("&lt;script&gt;"));
}
