use super::*;

const KEY: u64 = 7;

/// What is asked for early in a phase in which threads wait for these pages, and which takes so long.
fn phase(prefetch: &mut Prefetch, now: &mut u64, needs: &[u32], time: impl Fn(usize) -> u64) -> Vec<u32> {
    prefetch.begin(KEY, *now);
    let mut early = Vec::new();
    while let Some((page, access)) = prefetch.next() {
        assert_eq!(access, Access::Write);
        early.push(page.0);
        prefetch.came(page);
    }
    let waits: Vec<u32> = needs.iter().copied().filter(|page| !early.contains(page)).collect();
    for &page in &waits {
        prefetch.fault(Page(page), Access::Write);
    }
    *now += time(waits.len());
    early
}

#[test]
fn what_was_waited_for_is_asked_for_the_next_time() {
    let (mut prefetch, mut now) = (Prefetch::new(1 << 20), 0);
    let mut early = 0;
    for step in 0..200 {
        let needs: &[u32] = if step == 0 { &[1, 2, 3, 90] } else { &[1, 2, 3] };
        let asked = phase(&mut prefetch, &mut now, needs, |waits| 10 + waits as u64);
        // What was needed in the first phase alone is never asked for.
        assert!(asked.is_empty() || asked == [1, 2, 3], "{step}: {asked:?}");
        early += usize::from(!asked.is_empty());
    }
    // Three new ones, and two of each 32.
    assert!((180..200).contains(&early), "{early}");
}

#[test]
fn arrays_that_are_exchanged_are_told_apart() {
    let (mut prefetch, mut now) = (Prefetch::new(1 << 20), 0);
    for step in 0..100_u32 {
        let needs = if step % 2 == 0 { [10, 11] } else { [20, 21] };
        let asked = phase(&mut prefetch, &mut now, &needs, |waits| 10 + waits as u64);
        assert!(asked.is_empty() || asked == needs, "{step}: {asked:?}");
        assert_eq!(asked.is_empty(), step < 3 || step % 32 < 2, "{step}");
    }
}

#[test]
fn what_is_not_needed_any_more_is_forgotten() {
    let (mut prefetch, mut now) = (Prefetch::new(1 << 20), 0);
    for step in 0..300 {
        let needs: &[u32] = if step < 50 { &[1, 2] } else { &[3] };
        let asked = phase(&mut prefetch, &mut now, needs, |waits| 10 + waits as u64);
        assert!(step < 96 || asked.is_empty() || asked == [3], "{step}: {asked:?}");
    }
}

/// Where early requests make phases longer they are hardly made.
#[test]
fn early_requests_that_gain_nothing_are_left_out() {
    let (mut prefetch, mut now) = (Prefetch::new(1 << 20), 0);
    let mut early = 0;
    for _ in 0..4_000 {
        let asked = phase(&mut prefetch, &mut now, &[1, 2, 3], |waits| if waits == 0 { 30 } else { 20 });
        early += usize::from(!asked.is_empty());
    }
    assert!(early < 100, "{early}");
}

#[test]
fn few_pages_are_under_way_at_a_time_and_little_is_kept() {
    let mut prefetch = Prefetch::new(1 << 20);
    let many = PAGES_MAX as u32 + 10;
    for now in 0..4 {
        prefetch.begin(KEY, now);
        if now < 3 {
            (0..many).for_each(|page| prefetch.fault(Page(page), Access::Write));
        }
    }
    let mut asked = 0;
    loop {
        let mut pages = Vec::new();
        while let Some((page, _)) = prefetch.next() {
            pages.push(page);
        }
        assert!(pages.len() <= AT_A_TIME);
        if pages.is_empty() {
            break;
        }
        asked += pages.len();
        pages.into_iter().for_each(|page| prefetch.came(page));
    }
    assert_eq!(asked, PAGES_MAX);
    (0..2 * KEYS_MAX as u64).for_each(|key| prefetch.begin(key, 0));
    assert_eq!(prefetch.phases.len(), KEYS_MAX);
    let mut prefetch = Prefetch::new(1 << 30);
    for key in 0..100 {
        prefetch.begin(key, 0);
        (0..many).for_each(|page| prefetch.fault(Page(page * 2), Access::Write));
    }
    let kept = |prefetch: &Prefetch| prefetch.phases.values().map(Phase::kept).sum::<usize>();
    assert_eq!((prefetch.kept, kept(&prefetch)), (KEPT_MAX, KEPT_MAX));
    // Phases that are watched again are forgotten first.
    (0..100).for_each(|_| prefetch.begin(0, 0));
    assert_eq!(prefetch.kept, kept(&prefetch));
    assert!(prefetch.kept < KEPT_MAX);
}

/// How often a thread waits that reads so many pages in a row, from this one on. `here`: pages that have
/// come.
fn read(prefetch: &mut Prefetch, here: &mut HashSet<u32>, from: u32, count: u32) -> u32 {
    let mut waits = 0;
    for page in from..from + count {
        if !here.insert(page) {
            continue;
        }
        waits += 1;
        prefetch.fault(Page(page), Access::Read);
        while let Some((page, access)) = prefetch.next() {
            assert_eq!(access, Access::Read);
            here.insert(page.0);
            prefetch.came(page);
        }
    }
    waits
}

#[test]
fn who_reads_in_a_row_is_given_what_follows() {
    let (mut prefetch, mut here) = (Prefetch::new(1 << 20), HashSet::new());
    let waits = read(&mut prefetch, &mut here, 100, 1000);
    assert!(waits < 75, "{waits}");
    // Behind the end no more than at a time.
    assert!(here.iter().all(|&page| page < 1100 + AHEAD_MAX), "{here:?}");
    // Short rows, and pages here and there, are left alone.
    assert_eq!(read(&mut prefetch, &mut here, 5000, 3), 3);
    assert!((8000..9000).step_by(2).all(|page| read(&mut prefetch, &mut here, page, 1) == 1));
}

#[test]
fn rows_of_several_threads_and_the_end_of_the_memory_are_known() {
    let (mut prefetch, mut here) = (Prefetch::new(2000), HashSet::new());
    let (mut one, mut other) = (0, 0);
    for step in 0..50 {
        one += read(&mut prefetch, &mut here, 20 * step, 20);
        other += read(&mut prefetch, &mut here, 1000 + 20 * step, 20);
    }
    assert!(one < 75 && other < 75, "{one} {other}");
    assert!(here.iter().all(|&page| page < 2000));
}

#[test]
fn pages_that_are_left_out_are_not_asked_for() {
    let (mut prefetch, mut here) = (Prefetch::new(2000), HashSet::new());
    prefetch.leave_out(Page(108));
    read(&mut prefetch, &mut here, 100, 8);
    assert!(here.contains(&109) && !here.contains(&108), "{here:?}");
}
