//! Pages that will be needed soon, as far as the past tells.
//!
//! A program goes through phases again and again: a parallel region, or what lies between two barriers of
//! one. What threads waited for in a phase they will mostly wait for in the next one of the same key, and
//! asked for together pages come in a fraction of the time that they take one after the other. Programs that
//! exchange two arrays after every step wait for others in every second phase, so that two sets of pages are
//! kept.
//!
//! Beside that, a thread that reads pages in a row is given those that follow.
//!
//! A page that came early is used without a fault, and nothing tells whether it was used. So phases without
//! early requests are put in now and then: they show what is needed now, and how long a phase takes without.
//! Where early requests gain no time they are left out, and tried again later.

use std::collections::{HashMap, HashSet, VecDeque};

use tasuki_dsm::{Access, Page};

/// Phases of a key that are only watched when it is new: in the first one pages come that never move again.
const NEW: u64 = 3;
/// After so many phases two are only watched; the number doubles as long as early requests gain nothing.
const PERIOD: u64 = 32;
/// The longest such period.
const PERIOD_MAX: u64 = 1024;
/// Pages that are asked for at a time: enough to fill a line, and few enough that a thread's own request does
/// not wait long behind them.
const AT_A_TIME: usize = 64;
/// Pages of a phase that are remembered.
const PAGES_MAX: usize = 1 << 14;
/// Pages of all phases that are remembered: some 10 MB.
const KEPT_MAX: usize = 1 << 18;
/// Keys that are remembered.
const KEYS_MAX: usize = 1 << 12;

/// Rows of pages that are watched.
const ROWS: usize = 8;
/// So many pages in a row tell that more will follow: shorter ones are rims of what another process writes.
const ROW: u32 = 4;
/// Pages that are asked for at the end of a row, at most.
const AHEAD_MAX: u32 = 16;

/// What is known of phases, and what is asked for early.
pub(crate) struct Prefetch {
    /// Pages that there are.
    pages: u32,
    /// The row that was extended last is the first one.
    rows: VecDeque<Row>,
    phases: HashMap<u64, Phase>,
    /// The phase in which the process is, and since when, ns.
    now: Option<(u64, u64)>,
    /// Pages of all phases.
    kept: usize,
    queue: VecDeque<(Page, Access)>,
    under_way: HashSet<Page>,
    /// Pages that are not asked for.
    left_out: HashSet<Page>,
}

/// What is known of the phases of one key.
struct Phase {
    count: u64,
    /// What threads waited for in phases with even and odd numbers.
    sets: [HashMap<Page, Access>; 2],
    /// Phases since the last that were only watched.
    since: u64,
    period: u64,
    /// The present one is only watched.
    watched: bool,
    /// Early requests have gained time, or it is not known yet.
    gains: bool,
    /// Time of phases that were only watched, and of others, since the last two that were only watched.
    times: [Times; 2],
}

/// Pages that were read one after the other.
struct Row {
    /// The page that would follow.
    next: u32,
    /// How many they are.
    length: u32,
}

#[derive(Clone, Copy, Default)]
struct Times {
    count: u64,
    ns: u64,
}

impl Times {
    fn mean(self) -> Option<u64> {
        self.ns.checked_div(self.count)
    }
}

impl Prefetch {
    /// Nothing is known of so many pages.
    pub fn new(pages: u32) -> Prefetch {
        Prefetch {
            pages,
            rows: VecDeque::new(),
            phases: HashMap::new(),
            now: None,
            kept: 0,
            queue: VecDeque::new(),
            under_way: HashSet::new(),
            left_out: HashSet::new(),
        }
    }

    /// A phase begins, and the one before it ends.
    pub fn begin(&mut self, key: u64, now: u64) {
        if let Some((key, since)) = self.now.take()
            && let Some(phase) = self.phases.get_mut(&key)
        {
            phase.end(now.saturating_sub(since));
        }
        self.queue.clear();
        self.under_way.clear();
        if self.phases.len() >= KEYS_MAX && !self.phases.contains_key(&key) {
            return;
        }
        self.now = Some((key, now));
        let phase = self.phases.entry(key).or_insert_with(Phase::new);
        let before = phase.kept();
        self.queue.extend(phase.begin());
        self.kept -= before - phase.kept();
    }

    /// A thread waits for a page.
    pub fn fault(&mut self, page: Page, access: Access) {
        let phase = self.now.and_then(|(key, _)| self.phases.get_mut(&key));
        if let Some(phase) = phase {
            self.kept += usize::from(phase.waits(page, access, self.kept < KEPT_MAX));
        }
        // A page that is asked for to be written is taken from others, who may be about to use it.
        if access == Access::Read {
            self.read_ahead(page.0);
        }
    }

    fn read_ahead(&mut self, page: u32) {
        let known = self.rows.iter().position(|row| row.next == page);
        let mut row = known.and_then(|at| self.rows.remove(at)).unwrap_or(Row { next: page, length: 0 });
        row.length += 1;
        let ahead =
            if row.length < ROW { 0 } else { (row.length / 2).min(AHEAD_MAX).min(self.pages - 1 - page) };
        self.queue.extend((page + 1..=page + ahead).map(|page| (Page(page), Access::Read)));
        // Pages that come early are not waited for: the next wait is behind them.
        (row.next, row.length) = (page + ahead + 1, row.length + ahead);
        self.rows.push_front(row);
        self.rows.truncate(ROWS);
    }

    /// A page has come, or is used by nobody here.
    pub fn came(&mut self, page: Page) {
        self.under_way.remove(&page);
    }

    /// A page that is never asked for early.
    pub fn leave_out(&mut self, page: Page) {
        self.left_out.insert(page);
    }

    /// The next page to ask for now.
    pub fn next(&mut self) -> Option<(Page, Access)> {
        if self.under_way.len() >= AT_A_TIME {
            return None;
        }
        while self.queue.front().is_some_and(|(page, _)| self.left_out.contains(page)) {
            self.queue.pop_front();
        }
        let (page, access) = self.queue.pop_front()?;
        self.under_way.insert(page);
        Some((page, access))
    }
}

impl Phase {
    fn new() -> Phase {
        let sets = [HashMap::new(), HashMap::new()];
        let times = [Times::default(); 2];
        Phase { count: 0, sets, since: 0, period: PERIOD, watched: true, gains: true, times }
    }

    fn set(&mut self) -> &mut HashMap<Page, Access> {
        // The phase that runs has been counted.
        &mut self.sets[(self.count % 2) as usize]
    }

    /// The next one begins: what to ask for.
    fn begin(&mut self) -> Vec<(Page, Access)> {
        self.count += 1;
        self.since += 1;
        if self.since > self.period {
            self.since = 1;
            self.times = [Times::default(); 2];
            self.gains = true;
        }
        self.watched = self.count <= NEW || self.since <= 2;
        if self.watched {
            self.set().clear();
            return Vec::new();
        }
        if !self.gains {
            return Vec::new();
        }
        let mut pages: Vec<(Page, Access)> =
            self.set().iter().map(|(page, access)| (*page, *access)).collect();
        pages.sort_by_key(|(page, _)| page.0);
        pages
    }

    fn kept(&self) -> usize {
        self.sets.iter().map(HashMap::len).sum()
    }

    /// A thread waits for a page: true if the page is new, which it can be only if there is room.
    fn waits(&mut self, page: Page, access: Access, room: bool) -> bool {
        let set = self.set();
        if let Some(known) = set.get_mut(&page) {
            *known = access.max(*known);
            return false;
        }
        let is_kept = room && set.len() < PAGES_MAX;
        if is_kept {
            set.insert(page, access);
        }
        is_kept
    }

    fn end(&mut self, ns: u64) {
        // The first one of all says how long it takes until pages are where they stay.
        if self.count == 1 || !self.watched && !self.gains {
            return;
        }
        let times = &mut self.times[usize::from(!self.watched)];
        (times.count, times.ns) = (times.count + 1, times.ns + ns);
        let [watched, early] = self.times;
        if early.count == PERIOD / 4 && early.mean() >= watched.mean() {
            self.gains = false;
            self.period = PERIOD_MAX.min(self.period * 2);
        }
    }
}

#[cfg(test)]
#[path = "prefetch_tests.rs"]
mod tests;
