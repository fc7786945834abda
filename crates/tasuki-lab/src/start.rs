//! Starting `lab-init`, which ends with the process that starts it until that process lets it go.

use crate::{
    INIT_COMMAND, Lab, LabError, LabOptions,
    channel::Channel,
    client::{abstract_address, need_root, wait_for_exit},
    init::{CONTROL_DESCRIPTOR, LISTENER_DESCRIPTOR},
    protocol::{Commit, Progress, StartMessage},
};
use nix::{
    sys::socket::{AddressFamily, SockFlag, SockType, bind, socket, socketpair},
    unistd::Pid,
};
use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    time::Duration,
};
use tasuki_cluster::Cluster;

/// A lab that is up but still belongs to this process: it ends when this value is dropped or this process
/// ends, by whatever cause.
pub struct StartingLab {
    lab: Lab,
    control: Channel,
    pid: Pid,
    committed: bool,
}

/// Builds a lab and waits until it is up. `executable` is a program that calls [`crate::init_main`] when its
/// first argument is [`INIT_COMMAND`] (the `tasuki` command does). `progress` is told the number of steps
/// done, the number of all steps, and what is being made.
pub fn up(
    cluster: &Cluster,
    options: &LabOptions,
    executable: &Path,
    progress: &mut dyn FnMut(usize, usize, &str),
) -> Result<StartingLab, LabError> {
    options.check()?;
    need_root()?;
    let listener = listen_as(&options.name)?;
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
        .map_err(LabError::system("socketpair"))?;
    let pid = spawn_init(executable, &theirs, &listener)?;
    // These copies must be closed, or the end of lab-init would not be noticed.
    drop((theirs, listener));
    let starting =
        StartingLab { lab: Lab::named(&options.name)?, control: ours.into(), pid, committed: false };
    let message =
        StartMessage { options: options.clone(), cluster: cluster.to_toml(), source: cluster.source.clone() };
    starting.control.send(&message, &[]).map_err(LabError::system("tell lab-init what to build"))?;
    starting.follow(progress)?;
    Ok(starting)
}

impl StartingLab {
    /// The lab, for requests.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Lets the lab live on without this process.
    pub fn commit(mut self) -> Result<Lab, LabError> {
        self.control.send(&Commit, &[]).map_err(LabError::system("let the lab go"))?;
        self.committed = true;
        Ok(self.lab.clone())
    }

    fn follow(&self, progress: &mut dyn FnMut(usize, usize, &str)) -> Result<(), LabError> {
        loop {
            let received = self.control.receive().map_err(LabError::system("hear from lab-init"))?;
            match received.ok_or(LabError::Ended("start-up"))?.message {
                Progress::Step { done, total, what } => progress(done, total, &what),
                Progress::Ready => return Ok(()),
                Progress::Failed(why) => return Err(LabError::Failed(why)),
            }
        }
    }
}

impl Drop for StartingLab {
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        // A failure is harmless: the process is a child of this one, so it can only be gone already.
        let _ = nix::sys::signal::kill(self.pid, nix::sys::signal::Signal::SIGKILL);
        // If it takes longer than the limit, there is no one to report that to.
        let _ = wait_for_exit(self.pid);
    }
}

/// Binds the lab's name. The kernel gives a name to one socket at a time, which makes names unique, and frees
/// it when the last process that holds the socket ends. `lab-init` listens on the socket.
fn listen_as(name: &str) -> Result<OwnedFd, LabError> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener =
        socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).map_err(LabError::system("socket"))?;
    match bind(listener.as_raw_fd(), &abstract_address(name)?) {
        Err(nix::Error::EADDRINUSE) => match Lab::named(name)?.open(Duration::ZERO) {
            Err(stranger @ LabError::Stranger { .. }) => Err(stranger),
            // The other lab may be starting, and not listen yet.
            _ => Err(LabError::AlreadyUp(name.into())),
        },
        Err(errno) => Err(LabError::system("bind the lab's name")(errno)),
        Ok(()) => Ok(listener),
    }
}

/// Starts lab-init as process 1 of a new PID namespace.
fn spawn_init(executable: &Path, control: &OwnedFd, listener: &OwnedFd) -> Result<Pid, LabError> {
    let fail = |_| LabError::Failed(format!("{} cannot be executed", executable.display()));
    let program = CString::new(executable.as_os_str().as_bytes()).map_err(fail)?;
    let arguments = [c"tasuki".as_ptr(), INIT_COMMAND.as_ptr(), std::ptr::null()];
    let keep = [(control.as_raw_fd(), CONTROL_DESCRIPTOR), (listener.as_raw_fd(), LISTENER_DESCRIPTOR)];
    let flags = (libc::CLONE_NEWPID | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: without CLONE_VM this is fork(2) into a new PID namespace; the child calls nothing but
    // async-signal-safe functions on memory prepared before, until execve replaces it.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match pid {
        0 => {
            // SAFETY: this is the child of the fork above; the pointers outlive the call.
            unsafe { become_init(&program, &arguments, &keep) }
        }
        -1 => Err(LabError::system("start lab-init")(io::Error::last_os_error())),
        pid => Ok(Pid::from_raw(pid as i32)),
    }
}

/// The child's side of [`spawn_init`].
///
/// # Safety
/// To be called in a freshly forked child only; `arguments` ends with a null pointer.
unsafe fn become_init(
    program: &CString,
    arguments: &[*const libc::c_char; 3],
    keep: &[(RawFd, RawFd); 2],
) -> ! {
    const SAFE: RawFd = 16;
    // SAFETY: all of these are async-signal-safe system calls on valid arguments.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setsid();
        // The descriptors are first moved away from the target numbers, then to them.
        let moved = keep.map(|(from, to)| (libc::fcntl(from, libc::F_DUPFD, SAFE), to));
        for (from, to) in moved {
            libc::dup2(from, to);
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(null, 0);
        libc::dup2(null, 1);
        let first_other = (LISTENER_DESCRIPTOR + 1) as libc::c_uint;
        libc::syscall(libc::SYS_close_range, first_other, libc::c_uint::MAX, 0);
        libc::execv(program.as_ptr(), arguments.as_ptr());
        libc::_exit(127)
    }
}
