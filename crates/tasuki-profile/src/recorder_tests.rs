use super::*;

const A: u64 = 0x10_0000;
const B: u64 = A + PAGE as u64;

fn fault(address: u64, writes: bool) -> Fault {
    Fault { address, writes, at: 0x400 + u64::from(writes) }
}

/// A page in which the words at these offsets hold ones.
fn bytes(ones: &[usize]) -> Vec<u8> {
    let mut bytes = vec![0; PAGE];
    ones.iter().for_each(|&at| bytes[at] = 1);
    bytes
}

#[test]
fn waits_are_summed_by_place_page_and_region() {
    let mut recorder = Recorder::new(1, 2, 1_000);
    recorder.enter(0x77, 2_000);
    // Two threads wait for one page, one of them for another page afterwards.
    recorder.fault(fault(A + 8, false), 2_100);
    recorder.fault(fault(A + 16, false), 2_200);
    recorder.arrived(A, false, false, &bytes(&[]), 2_500);
    recorder.fault(fault(B, true), 2_600);
    recorder.arrived(B, true, true, &bytes(&[]), 2_700);
    // A thread that found the page here has not waited.
    recorder.fault(fault(B + 4, true), 2_700);
    recorder.was_here(B);
    recorder.waited(Wait::Barrier, 40);
    recorder.waited(Wait::Lock, 5);
    recorder.enter(0, 3_000);
    recorder.enter(0x77, 3_500);
    recorder.enter(0, 3_600);
    let record = recorder.finish(4_000);
    assert_eq!((record.rank, record.threads, record.ns, record.untold), (1, 2, 3_000, 0));
    let [between, region] = record.regions[..] else { panic!("{record:?}") };
    assert_eq!((between.function, between.times, between.ns), (0, 1, 1_000 + 500 + 400));
    let expected = RegionSum {
        function: 0x77,
        times: 2,
        ns: 1_100,
        barrier_ns: 40,
        lock_ns: 5,
        page_ns: 400 + 300 + 100,
        faults: 3,
    };
    assert_eq!(region, expected);
    let read = FaultSum { at: 0x400, region: 0x77, page: A, writes: false, count: 2, ns: 700 };
    let written = FaultSum { at: 0x401, region: 0x77, page: B, writes: true, count: 1, ns: 100 };
    assert_eq!(record.faults, [read, written]);
    assert_eq!(record.pages[1].first_in, Some(0x77));
    assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
}

#[test]
fn what_a_process_changes_is_found_once_a_page_comes_again() {
    let mut recorder = Recorder::new(0, 1, 0);
    let comes = |recorder: &mut Recorder, held: &[usize]| {
        recorder.fault(fault(A, true), 0);
        recorder.arrived(A, true, false, &bytes(held), 0);
    };
    // The first time nobody knows that it will move.
    comes(&mut recorder, &[]);
    recorder.leaves(A, &bytes(&[0, 100]));
    assert!(recorder.twins == 0);
    comes(&mut recorder, &[0, 100]);
    assert!(recorder.twins == 1);
    // It is only read by others now, and then written here again: the copy is of that moment.
    recorder.leaves(A, &bytes(&[0, 100, 200]));
    recorder.arrived(A, true, false, &bytes(&[0, 100, 200]), 0);
    recorder.leaves(A, &bytes(&[0, 100, 200, 300]));
    recorder.is_gone(A);
    let record = recorder.finish(0);
    let words = record.pages[0].words.expect("it came twice");
    assert_eq!(words.written.offsets().collect::<Vec<_>>(), [0, 200, 300]);
    assert!(words.read.is_empty() && recorder.twins == 0);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut recorder = Recorder::new(0, 1, 0);
    for page in 0..TWINS_MAX as u64 + 10 {
        recorder.leaves(page * PAGE as u64, &bytes(&[]));
        recorder.arrived(page * PAGE as u64, true, false, &bytes(&[]), 0);
    }
    assert_eq!(recorder.twins, TWINS_MAX);
    for block in 0..BLOCKS_MAX as u64 + 10 {
        recorder.allocated(block * PAGE as u64, 8192, 0);
    }
    assert_eq!(recorder.finish(0).blocks.len(), BLOCKS_MAX);
}
