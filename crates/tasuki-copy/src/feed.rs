//! Giving the contents of files to the first host of the chain.

use crate::{
    CopyError,
    select::{FileState, Source},
    sum::{CHUNK, Key, Sum, Summing},
};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::write,
};
use std::{
    fs::File,
    io::{self, Read},
    os::fd::AsFd,
    time::Duration,
};

/// How long the first host may take nothing before it counts as dead. It learns earlier of hosts behind it
/// that stand still.
const STALL: Duration = Duration::from_secs(120);

/// Writes the contents of all files to `input`, one behind the other. Returns their sums. That the other end
/// takes no more is no error: its answer says why.
///
/// # Errors
/// If a file cannot be read, or has changed.
pub fn feed(
    sources: &[Source],
    key: Key,
    input: impl AsFd,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<Sum>, CopyError> {
    let mut buffer = vec![0; CHUNK];
    let (mut sums, mut done) = (Vec::with_capacity(sources.len()), 0);
    // A write that waits without a limit would hang on a host that has lost its power.
    let _ = fcntl(&input, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
    for source in sources {
        let not_read = |error| CopyError::File { path: source.path.clone(), source: error };
        let file = File::open(&source.path).map_err(not_read)?;
        let mut bytes = (&file).take(source.item.bytes);
        let (mut sum, mut left) = (Summing::new(key), source.item.bytes);
        while left > 0 {
            let count = bytes.read(&mut buffer).map_err(not_read)?;
            if count == 0 {
                return Err(CopyError::Changed(source.path.clone()));
            }
            sum.add(&buffer[..count]);
            if give(&input, &buffer[..count]).is_err() {
                return Ok(sums);
            }
            left -= count as u64;
            done += count as u64;
            progress(done);
        }
        if FileState::of(&file.metadata().map_err(not_read)?) != source.state {
            return Err(CopyError::Changed(source.path.clone()));
        }
        sums.push(sum.end());
    }
    let _ = fcntl(&input, FcntlArg::F_SETFL(OFlag::empty()));
    Ok(sums)
}

/// Writes all bytes, or gives up when nothing is taken for long.
fn give(input: &impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(input, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                let mut waiting = [PollFd::new(input.as_fd(), PollFlags::POLLOUT)];
                let limit = PollTimeout::try_from(STALL).unwrap_or(PollTimeout::MAX);
                if poll(&mut waiting, limit) == Ok(0) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::{WORK, source};
    use std::{fs, path::Path};

    #[test]
    fn contents_follow_each_other_and_a_file_that_shrinks_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), vec![7; 3 * CHUNK + 5]).unwrap();
        fs::write(at("b"), "").unwrap();
        fs::write(at("c"), "end").unwrap();
        let sources: Vec<_> =
            ["a", "b", "c"].iter().map(|name| source(&at(name), WORK, Path::new(name)).unwrap()).collect();
        let (mut read, written) = io::pipe().unwrap();
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            read.read_to_end(&mut all).map(|_| all)
        });
        let mut last = 0;
        let sums = feed(&sources, Key([3; 16]), &written, &mut |done| last = done).unwrap();
        drop(written);
        let all = reader.join().unwrap().unwrap();
        assert_eq!((all.len() as u64, last), (3 * CHUNK as u64 + 8, 3 * CHUNK as u64 + 8));
        assert!(all.ends_with(b"end"));
        let expected = crate::sum::of_file(&at("a"), Key([3; 16])).unwrap();
        assert_eq!((sums.len(), sums[0]), (3, expected));

        fs::write(at("c"), "e").unwrap();
        let (_read, written) = io::pipe().unwrap();
        let error = feed(&sources[1..], Key([3; 16]), &written, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("has changed while it was being sent"), "{error}");
    }

    /// Hosts would get a part of it, or a mixture, and all of them the same one.
    #[test]
    fn a_file_that_is_written_meanwhile_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.out");
        for (contents, seconds) in [("longer than before", 0), ("other!", 1)] {
            fs::write(&path, "before").unwrap();
            let source = source(&path, WORK, Path::new("a.out")).unwrap();
            fs::write(&path, contents).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            // Clocks of file systems are coarse.
            file.set_modified(std::time::SystemTime::now() + Duration::from_secs(seconds)).unwrap();
            let (_read, written) = io::pipe().unwrap();
            let error = feed(&[source], Key([3; 16]), &written, &mut |_| {}).unwrap_err().to_string();
            assert!(error.contains("a.out has changed"), "{error}");
        }
    }

    #[test]
    fn an_end_that_takes_no_more_is_no_error_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "x").unwrap();
        let source = source(&folder.path().join("a"), WORK, Path::new("a")).unwrap();
        let (read, written) = io::pipe().unwrap();
        drop(read);
        // Programs ignore SIGPIPE before they send; Rust's test programs do so too.
        assert!(feed(&[source], Key([3; 16]), &written, &mut |_| {}).unwrap().is_empty());
    }
}
