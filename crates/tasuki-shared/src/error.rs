//! What goes wrong with shared memory.

use std::io;

use crate::meeting::MeetingError;
use crate::segment::PAGE;

/// Why a process cannot join.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel works with pages of another size.
    #[error("this kernel has pages of {0} bytes; shared memory works with pages of {PAGE}")]
    PageSize(usize),
    /// The size is 0 or more than page numbers can count.
    #[error("{0} bytes cannot be shared: from 1 to 16 TiB can")]
    Size(usize),
    /// The kernel does not tell of page faults.
    #[error(
        "page faults cannot be answered (userfaultfd: {0}): the kernel needs CONFIG_USERFAULTFD, and a \
         container's seccomp profile must allow the call"
    )]
    Faults(#[source] io::Error),
    /// The kernel is too old for its processor.
    #[error(
        "this kernel cannot protect pages from writes (userfaultfd: {0}): Linux can from 5.7 on, on aarch64 \
         from 6.10 on"
    )]
    Protection(#[source] io::Error),
    /// Faults of system calls cannot be answered.
    #[error(
        "this user may not answer page faults of system calls, and the program would lose what it reads and \
         writes: members of the group tasuki may where Tasuki's package is installed, and `tasuki doctor` \
         says what is missing; or set vm.unprivileged_userfaultfd=1 by sysctl, for all users"
    )]
    SystemCalls,
    /// Memory cannot be reserved.
    #[error("{bytes} bytes at address {address:#x} cannot be reserved for shared memory: {error}")]
    Reserve {
        /// Bytes.
        bytes: usize,
        /// The address; 0: anywhere.
        address: usize,
        /// Why.
        error: io::Error,
    },
    /// The processes do not find each other.
    #[error(transparent)]
    Meeting(#[from] MeetingError),
    /// The endpoint cannot be opened.
    #[error(transparent)]
    Endpoint(#[from] tasuki_engine::OpenError),
    /// A thread or a descriptor cannot be had.
    #[error("a thread that serves shared memory cannot be started: {0}")]
    Thread(#[source] io::Error),
}

/// The memory is lost, and nothing can be done with it any more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("shared memory is lost: {0}")]
pub struct Lost(pub String);
