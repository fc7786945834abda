//! The shepherd process: one thread, which waits for whatever comes.

use crate::{JobSpec, OwnerEnd, keeper::Keeper, peer::Peer, start::do_not_block, wire::Inbox};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl, open},
    sys::{
        prctl,
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        stat::Mode,
    },
    unistd::{dup2_stdin, read, setsid},
};
use std::{
    io,
    os::fd::{AsFd, FromRawFd, OwnedFd},
    process::ExitCode,
};
use tasuki_process::{ignore_broken_pipes, raise_open_files};

/// The shepherd process. Its standard input is the socket to its owner, on which a [`JobSpec`] comes
/// first. Returns the exit code: 0 after the job's end, whatever that was. To be called by `main` before
/// any thread is started.
pub fn process_main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shepherd: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let socket = take_socket()?;
    close_on_exec();
    // A write to an owner that has gone fails, and ends nothing. Ranks get the default action back.
    ignore_broken_pipes()?;
    // Each rank takes some files; without more there is room for those of most jobs. Ranks get the limit of
    // their user.
    let _ = raise_open_files();
    // The terminal of the owner is none of ours. A leader of a process group has left it already.
    let _ = setsid();
    prctl::set_child_subreaper(true)?;
    let signals = signals()?;
    let (job, inbox) = first_message(&socket)?;
    do_not_block(&socket)?;
    let keeps = job.owner != OwnerEnd::Kill;
    Keeper::new(&job, Peer::new(socket, inbox, keeps), signals)?.run()
}

/// The socket to the owner, which gives up its place as standard input to an empty file.
fn take_socket() -> io::Result<OwnedFd> {
    let copy = fcntl(io::stdin().as_fd(), FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: the kernel has just made this descriptor for this process, and no other code has it.
    let socket = unsafe { OwnedFd::from_raw_fd(copy) };
    dup2_stdin(open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty())?)?;
    Ok(socket)
}

/// Nothing that the owner has left open reaches a rank. The kernel has had this call since 5.11.
fn close_on_exec() {
    // SAFETY: the call takes numbers, and changes a flag of descriptors without closing any.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// The signals that the shepherd acts on, blocked, at a descriptor.
fn signals() -> io::Result<SignalFd> {
    let mut set = SigSet::empty();
    [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].iter().for_each(|one| set.add(*one));
    set.thread_block()?;
    Ok(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

/// The job, and what has come behind it.
fn first_message(socket: &OwnedFd) -> io::Result<(JobSpec, Inbox)> {
    let mut inbox = Inbox::default();
    let mut buffer = [0; 64 << 10];
    loop {
        let count = match read(socket, &mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::EINTR) => continue,
            other => other?,
        };
        inbox.extend(&buffer[..count]);
        let job: Option<JobSpec> = inbox.take().map_err(io::Error::other)?;
        if let Some(job) = job {
            job.check().map_err(io::Error::other)?;
            return Ok((job, inbox));
        }
    }
}
