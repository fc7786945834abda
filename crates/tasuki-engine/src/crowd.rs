//! Whether more threads want to run on this machine than it has processors.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Asks the kernel. Where it does not tell (no `/proc`) there is never a crowd.
#[derive(Default)]
pub(crate) struct Crowd(Option<Source>);

struct Source {
    file: Option<File>,
    processors: u32,
}

impl Crowd {
    /// Looks now, which takes two microseconds.
    pub fn is_there(&mut self) -> bool {
        self.excess() > 0
    }

    /// So many threads more than the processors can run. It counts who asks, too.
    pub fn excess(&mut self) -> u32 {
        let Source { file, processors } = self.0.get_or_insert_with(Source::open);
        let mut text = [0; 64];
        let len = file.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        running(&text[..len]).map_or(0, |running| excess(running, *processors))
    }
}

impl Source {
    fn open() -> Source {
        let processors = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
        let processors = processors.and_then(|count| u32::try_from(count).ok()).unwrap_or(u32::MAX);
        Source { file: File::open("/proc/loadavg").ok(), processors }
    }
}

/// Threads that run or wait for a processor: before the slash in `0.20 0.18 0.12 1/80 11206` (proc_loadavg(5)).
fn running(loadavg: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(loadavg).ok()?;
    text.split_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

/// Kernel threads come and go: on a large machine one more than there are processors is none.
fn excess(running: u32, processors: u32) -> u32 {
    running.saturating_sub(processors.saturating_add(processors / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_word_tells_who_runs() {
        // The example of proc_loadavg(5), and what is none.
        assert_eq!(running(b"0.20 0.18 0.12 1/80 11206\n"), Some(1));
        assert_eq!(running(b"0.00 0.01 0.05 13/1024 7\n"), Some(13));
        for nonsense in [&b""[..], b"0.20 0.18 0.12", b"0.20 0.18 0.12 x/80 1", b"\xff"] {
            assert_eq!(running(nonsense), None);
        }
    }

    #[test]
    fn more_than_the_processors_are_a_crowd() {
        for (running, processors, crowd) in [(2, 2, 0), (3, 2, 1), (65, 64, 0), (80, 64, 8)] {
            assert_eq!(excess(running, processors), crowd, "{running} on {processors}");
        }
        assert_eq!(excess(u32::MAX, u32::MAX), 0, "unknown");
    }
}
