//! Groups in threads.

use std::ffi::{CStr, CString, c_char};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;

use tasuki_torch::{
    tasuki_torch_abort, tasuki_torch_address, tasuki_torch_close, tasuki_torch_connect, tasuki_torch_finish,
    tasuki_torch_look, tasuki_torch_message, tasuki_torch_open, tasuki_torch_reason, tasuki_torch_start,
    tasuki_torch_test, tasuki_torch_wait,
};

/// Kinds of operations, an element and reductions, by their numbers in `tasuki_torch.py`.
pub const ALL_REDUCE: u32 = 0;
pub const ALL_GATHER: u32 = 1;
pub const REDUCE_SCATTER: u32 = 2;
pub const BROADCAST: u32 = 3;
pub const ALL_TO_ALL: u32 = 7;
pub const BARRIER: u32 = 8;
pub const I64: u32 = 4;
pub const SUM: u32 = 0;

pub const MINUTE_MS: u64 = 60_000;

/// A group that this test may use from several threads.
pub struct Group(pub *mut std::ffi::c_void);

// SAFETY: the functions take calls from any thread.
unsafe impl Send for Group {}
// SAFETY: as above.
unsafe impl Sync for Group {}

fn reason() -> String {
    let mut text = [0 as c_char; 1000];
    // SAFETY: there are 1,000 bytes, with a zero among them afterwards.
    unsafe {
        tasuki_torch_reason(text.as_mut_ptr(), text.len());
        CStr::from_ptr(text.as_ptr()).to_str().expect("text").to_owned()
    }
}

pub fn checked(result: i64) -> Result<i64, String> {
    if result == -1 { Err(reason()) } else { Ok(result) }
}

impl Group {
    fn open(rank: usize, size: usize) -> Group {
        let group = tasuki_torch_open(rank as u32, size as u32);
        assert!(!group.is_null(), "{}", reason());
        Group(group.cast())
    }

    fn address(&self) -> String {
        let mut text = [0 as c_char; 1000];
        // SAFETY: the group is open, and there are 1,000 bytes.
        unsafe {
            checked(tasuki_torch_address(self.0.cast(), text.as_mut_ptr(), text.len())).expect("an address");
            CStr::from_ptr(text.as_ptr()).to_str().expect("text").to_owned()
        }
    }

    pub fn connect(&self, addresses: &str) -> Result<i64, String> {
        let text = CString::new(addresses).expect("no zero");
        // SAFETY: the group is open, and the text is there.
        checked(unsafe { tasuki_torch_connect(self.0.cast(), text.as_ptr()) })
    }

    /// Starts an operation and waits for it.
    pub fn run(
        &self,
        what: [u32; 4],
        input: &[i64],
        output: &mut [i64],
        timeout_ms: u64,
    ) -> Result<i64, String> {
        let input = (input.as_ptr().cast_mut(), input.len());
        // SAFETY: both slices are borrowed until the operation is over.
        unsafe { self.complete(what, input, (output.as_mut_ptr(), output.len()), timeout_ms) }
    }

    /// As `run`, with parts of one array: what is given, and the place of the result.
    pub fn in_place(
        &self,
        what: [u32; 4],
        data: &mut [i64],
        (given, wanted): (Range<usize>, Range<usize>),
    ) -> Result<i64, String> {
        assert!(given.end.max(wanted.end) <= data.len(), "parts of the array");
        let first = data.as_mut_ptr();
        // SAFETY: both parts are of the array, which is borrowed until the operation is over.
        unsafe {
            let parts = [given, wanted].map(|part| (first.add(part.start), part.len()));
            self.complete(what, parts[0], parts[1], MINUTE_MS)
        }
    }

    /// Starts an operation on arrays, given by their places and counts, and waits for it.
    ///
    /// # Safety
    /// The arrays are there, and left alone until this returns.
    unsafe fn complete(
        &self,
        what: [u32; 4],
        (from, given): (*mut i64, usize),
        (into, wanted): (*mut i64, usize),
        timeout_ms: u64,
    ) -> Result<i64, String> {
        let (from, into, each) = (from.cast(), into.cast(), size_of::<i64>());
        // SAFETY: the group is open; for the rest the caller answers.
        unsafe {
            let group = self.0.cast();
            let started =
                tasuki_torch_start(group, &what, from, given * each, into, wanted * each, timeout_ms);
            let name = checked(started)? as u64;
            checked(tasuki_torch_wait(group, name))?;
            assert_eq!(tasuki_torch_test(group, name), 1);
        }
        Ok(0)
    }

    pub fn sum(&self, data: &mut [i64]) -> Result<i64, String> {
        self.run([ALL_REDUCE, 0, I64, SUM], &[], data, MINUTE_MS)
    }

    /// Sends (`true`) or receives numbers, and gives the other side's rank.
    pub fn message(&self, sends: bool, rank: i64, tag: u32, data: &mut [i64]) -> Result<i64, String> {
        self.message_within(MINUTE_MS, sends, rank, tag, data)
    }

    /// As `message`, for at most so long.
    pub fn message_within(
        &self,
        timeout_ms: u64,
        sends: bool,
        rank: i64,
        tag: u32,
        data: &mut [i64],
    ) -> Result<i64, String> {
        let (memory, len) = (data.as_mut_ptr().cast(), size_of_val(data));
        // SAFETY: the group is open, and the slice is borrowed until the message is over.
        unsafe {
            let posted = tasuki_torch_message(self.0.cast(), sends.into(), rank, tag, memory, len);
            checked(tasuki_torch_finish(self.0.cast(), checked(posted)? as u64, rank, timeout_ms))
        }
    }

    /// Receives from any rank, and gives which; by asking again and again whether the message is there.
    pub fn receive_by_looks(&self, tag: u32, data: &mut [i64]) -> Result<i64, String> {
        let (begin, memory, len) = (Instant::now(), data.as_mut_ptr().cast(), size_of_val(data));
        // SAFETY: the group is open, and the slice is borrowed until the message is over.
        let name = checked(unsafe { tasuki_torch_message(self.0.cast(), 0, -1, tag, memory, len) })? as u64;
        loop {
            // SAFETY: the group is open.
            match checked(unsafe { tasuki_torch_look(self.0.cast(), name) })? {
                0 => assert!(begin.elapsed().as_millis() < u128::from(MINUTE_MS), "it hangs"),
                rank => return Ok(rank - 1),
            }
        }
    }

    /// Fails all that is under way, and all later calls.
    pub fn abort(&self) {
        // SAFETY: the group is open.
        unsafe { tasuki_torch_abort(self.0.cast()) };
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: it came from `tasuki_torch_open`, and no call is under way.
        unsafe { tasuki_torch_close(self.0.cast()) };
    }
}

/// Runs a function at each rank of a group.
pub fn run<T: Send>(size: usize, body: impl Fn(usize, &Group) -> T + Sync) -> Vec<T> {
    let (addresses, all) = (Mutex::new(vec![String::new(); size]), Barrier::new(size));
    thread::scope(|scope| {
        let rank = |rank: usize| {
            let (addresses, all, body) = (&addresses, &all, &body);
            scope.spawn(move || {
                let group = Group::open(rank, size);
                addresses.lock().expect("a lock")[rank] = group.address();
                all.wait();
                let text = addresses.lock().expect("a lock").join("\n");
                group.connect(&text).expect("connects");
                let result = catch_unwind(AssertUnwindSafe(|| body(rank, &group)));
                if result.is_err() {
                    // The others must not wait for a rank that has failed its test.
                    group.abort();
                }
                all.wait();
                result.unwrap_or_else(|panic| resume_unwind(panic))
            })
        };
        let ranks: Vec<_> = (0..size).map(rank).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    })
}
