//! A group whose processes are threads, of which one may die.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use tasuki_checkpoint::{Group, GroupError};
use tasuki_random::Random;

/// What a call returns after a process has died.
const DEAD: GroupError = GroupError(13);

#[derive(Debug)]
struct State {
    is_dead: bool,
    /// Whether a process has ended, in one way or another.
    is_left: bool,
    /// Calls of `gather` that each process has begun and ended.
    begun: Vec<u64>,
    /// What was given, by call and process; kept until the end, as calls may be left behind by the dead.
    given: HashMap<(u64, usize), Vec<u8>>,
    /// What is under way, by sender and receiver, oldest first.
    mail: HashMap<(usize, usize), Vec<Vec<u8>>>,
    random: Random,
}

/// Where the processes meet.
#[derive(Debug)]
struct Hall {
    state: Mutex<State>,
    changed: Condvar,
}

/// One process's place.
#[derive(Debug)]
pub struct Seat {
    hall: Arc<Hall>,
    rank: usize,
    size: usize,
    /// The number of the call in which this process dies, counted down.
    dies_in: Option<u64>,
}

/// A folder whose files are in memory: what waits for a disk would take most of a test's time.
pub fn memory_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").expect("a folder in memory")
}

/// Places for so many processes, of which one may die in one of its calls.
pub fn seats(size: usize, seed: u64, dies: Option<(usize, u64)>) -> Vec<Seat> {
    let state = State {
        is_dead: false,
        is_left: false,
        begun: vec![0; size],
        given: HashMap::new(),
        mail: HashMap::new(),
        random: Random::new(seed),
    };
    let hall = Arc::new(Hall { state: Mutex::new(state), changed: Condvar::new() });
    let dies_in = |rank| dies.filter(|(who, _)| *who == rank).map(|(_, call)| call);
    (0..size).map(|rank| Seat { hall: hall.clone(), rank, size, dies_in: dies_in(rank) }).collect()
}

/// Runs a body at each place, in threads of their own, and gives what they return, in the order of ranks.
pub fn each<T: Send>(seats: Vec<Seat>, body: impl Fn(usize, Seat) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let body = &body;
        let start = |(rank, seat)| scope.spawn(move || body(rank, seat));
        let threads: Vec<_> = seats.into_iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("a process panicked")).collect()
    })
}

impl Seat {
    /// Counts a call. True: the process dies in it, after others have got what it gave.
    fn counts(&mut self) -> bool {
        let dies = self.dies_in == Some(0);
        self.dies_in = self.dies_in.map(|left| left.saturating_sub(1));
        dies
    }

    fn die(&self, mut state: MutexGuard<'_, State>) -> GroupError {
        state.is_dead = true;
        self.hall.changed.notify_all();
        DEAD
    }

    /// Waits until something is there. Once a process has died, what is there may be given or not.
    fn wait<T>(
        &self,
        mut state: MutexGuard<'_, State>,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, GroupError> {
        loop {
            if state.is_dead && state.random.chance(50) {
                return Err(DEAD);
            }
            if let Some(value) = look(&mut state) {
                return Ok(value);
            }
            if state.is_dead || state.is_left {
                return Err(DEAD);
            }
            state = self.hall.changed.wait(state).expect("no thread panics with the lock");
        }
    }
}

impl Drop for Seat {
    /// A process that has ended gives nothing more, so that others would wait for ever. What it gave stays.
    fn drop(&mut self) {
        let mut state = self.hall.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.is_left = true;
        self.hall.changed.notify_all();
    }
}

impl Group for Seat {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn gather(&mut self, mine: &[u8], all: &mut [u8]) -> Result<(), GroupError> {
        assert_eq!(all.len(), mine.len() * self.size, "room for all");
        let dies = self.counts();
        let hall = self.hall.clone();
        let mut state = hall.state.lock().expect("no thread panics with the lock");
        let call = state.begun[self.rank];
        state.begun[self.rank] += 1;
        state.given.insert((call, self.rank), mine.to_vec());
        hall.changed.notify_all();
        if dies {
            return Err(self.die(state));
        }
        let size = self.size;
        let given = self.wait(state, |state| {
            let parts: Option<Vec<_>> =
                (0..size).map(|rank| state.given.get(&(call, rank)).cloned()).collect();
            parts
        })?;
        for (part, into) in given.iter().zip(all.chunks_exact_mut(mine.len().max(1))) {
            assert_eq!(part.len(), into.len(), "the same length from all");
            into.copy_from_slice(part);
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        out: &[u8],
        to: Option<usize>,
        into: &mut [u8],
        from: Option<usize>,
    ) -> Result<(), GroupError> {
        let dies = self.counts();
        let hall = self.hall.clone();
        let mut state = hall.state.lock().expect("no thread panics with the lock");
        if let Some(to) = to {
            state.mail.entry((self.rank, to)).or_default().push(out.to_vec());
        }
        hall.changed.notify_all();
        if dies {
            return Err(self.die(state));
        }
        let Some(from) = from else { return Ok(()) };
        let rank = self.rank;
        let piece = self.wait(state, |state| {
            let waiting = state.mail.get_mut(&(from, rank))?;
            (!waiting.is_empty()).then(|| waiting.remove(0))
        })?;
        assert_eq!(piece.len(), into.len(), "as long as announced");
        into.copy_from_slice(&piece);
        Ok(())
    }
}
