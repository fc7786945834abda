//! Signals of the program, which are for its own threads.

use std::fs;
use std::time::Duration;

use crate::nodes::run;

/// The signals that each thread of this name blocks, as bits (see proc(5)).
fn blocked_by(name: &str) -> Vec<u64> {
    let tasks = fs::read_dir("/proc/self/task").expect("reads").flatten();
    let of = |task: fs::DirEntry| {
        // A thread may end meanwhile.
        let is_it = fs::read_to_string(task.path().join("comm")).ok()?.trim_end() == name;
        let status = fs::read_to_string(task.path().join("status")).ok().filter(|_| is_it)?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    tasks.filter_map(of).collect()
}

/// As above, when there is such a thread: it gives itself its name when it begins to run.
fn masks_of(name: &str) -> Vec<u64> {
    for _ in 0..10_000 {
        let masks = blocked_by(name);
        if !masks.is_empty() {
            return masks;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("there is no thread {name}");
}

/// A handler that ran on such a thread would wait for a page that only this thread can get, and a signal that
/// the program blocks and waits for would end the process there.
#[test]
fn threads_that_serve_get_no_signals() {
    run(1, |_| {
        for name in ["tasuki-faults", "tasuki-pages"] {
            let masks = masks_of(name);
            let wanted =
                [libc::SIGHUP, libc::SIGINT, libc::SIGUSR1, libc::SIGALRM, libc::SIGTERM, libc::SIGPROF];
            for mask in masks {
                assert!(wanted.iter().all(|signal| mask >> (signal - 1) & 1 == 1), "{name}: {mask:x}");
            }
        }
    });
}
