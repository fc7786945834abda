//! Why an endpoint cannot be opened. The error number is the kernel's, if the kernel has refused something.
//! MPIs print no more than its text, or nothing, so that the reason and the remedy are said on stderr and in
//! libfabric's log as well.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;

use tasuki_engine::OpenError;

use crate::abi::FI_ENODEV;
use crate::guard::Errno;
use crate::log;

/// The engine does not open.
pub fn of_engine(error: &OpenError) -> Errno {
    let refused = match error {
        OpenError::Wait(error) => Some(error),
        _ => refused(error),
    };
    tell(error, refused)
}

/// The location that the program has named cannot be listened at.
pub fn of_names(at: SocketAddr, error: &io::Error) -> Errno {
    tell(&format_args!("its address cannot be told at {at}: {error}"), Some(error))
}

/// A variable of the environment says something that cannot be.
pub fn of_environment(error: &dyn Display) -> Errno {
    tell(error, None)
}

fn tell(error: &dyn Display, refused: Option<&io::Error>) -> Errno {
    let errno = refused.and_then(io::Error::raw_os_error).unwrap_or(FI_ENODEV);
    let remedy = remedy(errno, files_allowed()).unwrap_or_default();
    log::say(&format!("cannot open an endpoint: {error}{remedy}"));
    Errno(errno)
}

/// What the kernel has said, if that is the reason of an error.
fn refused<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let mut error = Some(error);
    while let Some(found) = error {
        if let Some(refused) = found.downcast_ref() {
            return Some(refused);
        }
        error = found.source();
    }
    None
}

/// What helps against an error whose text does not tell.
fn remedy(errno: i32, files: u64) -> Option<String> {
    match errno {
        libc::EMFILE => Some(format!(
            "; {files} files may be open in this process, and are: allow more, by `ulimit -n 1024` before \
             the program is started, or by LimitNOFILE= in the unit of the daemon that starts it"
        )),
        libc::ENFILE => Some(
            "; the host has as many files open as its kernel allows: see `sysctl fs.file-nr`, and raise \
             fs.file-max"
                .to_owned(),
        ),
        _ => None,
    }
}

/// How many files this process may have open.
fn files_allowed() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit outlives the call, which cannot fail for this resource.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_found_behind_other_errors() {
        #[derive(Debug)]
        struct Outer(io::Error);
        impl Display for Outer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("outer")
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = Outer(io::Error::from_raw_os_error(libc::EACCES));
        assert_eq!(refused(&error).and_then(io::Error::raw_os_error), Some(libc::EACCES));
        assert!(refused(&std::fmt::Error).is_none());
    }

    #[test]
    fn the_limit_and_the_remedy_are_named() {
        let text = remedy(libc::EMFILE, 20).expect("a remedy");
        assert!(text.contains("20 files") && text.contains("ulimit -n"), "{text}");
        assert!(remedy(libc::EACCES, 20).is_none());
    }
}
