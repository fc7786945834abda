//! The client's side of a lab: finding it, asking it, starting commands in its hosts.

use crate::{
    HOST_SOCKET, JOB_VARIABLE, LabError,
    ask::{self, await_answer},
    channel::{Channel, Received},
    exec::{ExecRequest, Job, Session, shares},
    listener,
    options::check_name,
    protocol::{ExecMessage, Fault, JobRole, LabStatus, Reply, Request},
};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::{Pid, Uid},
};
use std::{
    fs,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long a lab may take to accept a connection. It accepts within milliseconds unless thousands of clients
/// wait.
const ACCEPT_LIMIT: Duration = Duration::from_secs(5);
/// Pause before a lab whose queue of connections is full is asked again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(5);

/// Abstract socket names start with this.
const NAME_PREFIX: &str = "tasuki-lab/";

pub(crate) fn abstract_address(name: &str) -> Result<UnixAddr, LabError> {
    UnixAddr::new_abstract(format!("{NAME_PREFIX}{name}").as_bytes())
        .map_err(|_| LabError::BadName(name.into()))
}

/// Fails if this process is not root's: only root can build or use labs.
pub fn need_root() -> Result<(), LabError> {
    if Uid::effective().is_root() { Ok(()) } else { Err(LabError::NotRoot) }
}

/// A lab that is up.
#[derive(Clone, Debug)]
pub struct Lab {
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// A lab on this machine, by its name.
    Named(String),
    /// The lab that has this process in one of its hosts.
    Around,
}

impl Lab {
    /// The lab of that name, or the one that is meant when none is named, as [`Self::find`] has it.
    pub fn choose(name: Option<&str>) -> Result<Self, LabError> {
        match name {
            Some(name) => Self::named(name),
            None => Self::find(),
        }
    }

    /// A lab by name. It need not be up yet.
    pub fn named(name: &str) -> Result<Self, LabError> {
        check_name(name)?;
        Ok(Self { place: Place::Named(name.into()) })
    }

    /// The lab that is meant when none is named: the one that has this process in a host, or the only one
    /// that is up.
    pub fn find() -> Result<Self, LabError> {
        if Path::new(HOST_SOCKET).exists() {
            return Ok(Self { place: Place::Around });
        }
        let mut names = Self::list()?;
        match names.len() {
            0 => Err(LabError::NoneUp),
            1 => Self::named(&names.remove(0)),
            _ => Err(LabError::Ambiguous(names)),
        }
    }

    /// Names of all labs that are up on this machine. A name that is held by a process which is no lab is
    /// left out.
    pub fn list() -> Result<Vec<String>, LabError> {
        let mut names = Self::names_in_use()?;
        names.retain(|name| Self::named(name).is_ok_and(|lab| lab.open(Duration::ZERO).is_ok()));
        Ok(names)
    }

    /// Names of labs for which there is a socket, whichever process has bound it.
    fn names_in_use() -> Result<Vec<String>, LabError> {
        // The file may hold any bytes, but names of labs are ASCII.
        let table = fs::read("/proc/net/unix").map_err(LabError::system("read /proc/net/unix"))?;
        let table = String::from_utf8_lossy(&table);
        let name = |line: &str| {
            let path = line.split_whitespace().nth(7)?;
            path.strip_prefix('@')?.strip_prefix(NAME_PREFIX).map(str::to_owned)
        };
        let mut names: Vec<String> = table.lines().filter_map(name).collect();
        // Accepted connections carry the listener's name too.
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// The lab's name. It is not known inside a host.
    pub fn name(&self) -> Option<&str> {
        match &self.place {
            Place::Named(name) => Some(name),
            Place::Around => None,
        }
    }

    /// Asks the lab for its state.
    pub fn status(&self) -> Result<LabStatus, LabError> {
        match ask::request(|| self.connect(), &Request::Status, &[])? {
            (Reply::Status(mut status), _, pid) => {
                status.pid = pid.map_or(0, Pid::as_raw);
                Ok(*status)
            }
            (other, ..) => Err(unexpected(other)),
        }
    }

    /// Plants or removes a fault.
    pub fn fault(&self, fault: &Fault) -> Result<(), LabError> {
        match ask::request(|| self.connect(), &Request::Fault(fault.clone()), &[])? {
            (Reply::Done, ..) => Ok(()),
            (other, ..) => Err(unexpected(other)),
        }
    }

    /// Ends the lab and waits until all its processes are gone.
    pub fn down(&self) -> Result<(), LabError> {
        let (channel, pid) = ask::deliver(|| self.connect(), &Request::Down, &[])?;
        await_answer(&channel, pid)?;
        // The lab's socket closes before its last process is gone, so the end of the connection is not
        // enough.
        let _: Option<Received<Reply>> = channel.receive().unwrap_or(None);
        match pid {
            Some(pid) if !wait_for_exit(pid) => Err(LabError::Failed(format!(
                "the lab has been told to end, but its process {pid} is still there after a minute; \
                 a process in it may be stuck in the kernel (state D in `ps`)"
            ))),
            _ => Ok(()),
        }
    }

    /// Starts a command in a host with the given standard input, output and error.
    pub fn exec(&self, request: ExecRequest, stdio: [BorrowedFd; 3]) -> Result<Session, LabError> {
        let inherited = std::env::var(JOB_VARIABLE).ok();
        let job = match (&request.job, inherited) {
            (Job::Root, _) => JobRole::Root,
            (Job::Inherit, Some(name)) => JobRole::Member(name),
            (Job::Inherit, None) => JobRole::None,
        };
        // Only a client outside can share folders: those of a client inside a host are not visible to other
        // hosts in any case.
        let share = if matches!(self.place, Place::Named(_)) { shares(&request) } else { Vec::new() };
        let message = ExecMessage {
            host: request.host,
            argv: request.argv,
            env: request.env,
            cwd: request.cwd,
            share,
            job,
            terminal: request.terminal,
        };
        match ask::request(|| self.connect(), &Request::Exec(Box::new(message)), &stdio)? {
            (Reply::Started, channel, _) => Ok(Session::new(channel, request.job)),
            (other, ..) => Err(unexpected(other)),
        }
    }

    /// Makes the folders that a request needs visible in every host, not only in its own.
    pub fn share(&self, request: &ExecRequest) -> Result<(), LabError> {
        if !matches!(self.place, Place::Named(_)) || shares(request).is_empty() {
            return Ok(());
        }
        let null = fs::File::options().read(true).write(true).open("/dev/null");
        let null = null.map_err(LabError::system("open /dev/null"))?;
        for host in self.status()?.hosts {
            let probe = ExecRequest {
                host: host.name,
                argv: vec!["/bin/true".into()],
                share: shares(request),
                job: Job::Inherit,
                terminal: false,
                ..request.clone()
            };
            self.exec(probe, [null.as_fd(), null.as_fd(), null.as_fd()])?.wait()?;
        }
        Ok(())
    }

    /// A connection to the lab, and the lab's process number if it can be seen. Fails if this process is not
    /// root's, because the lab serves only root.
    fn connect(&self) -> Result<(Channel, Option<Pid>), LabError> {
        need_root()?;
        self.open(ACCEPT_LIMIT)
    }

    /// A connection to a listener that was found to be a lab. Nothing has been sent yet. `limit`: for how
    /// long a listener whose queue of connections is full is tried again.
    pub(crate) fn open(&self, limit: Duration) -> Result<(Channel, Option<Pid>), LabError> {
        // A blocking connect would wait without end for a listener that accepts nothing.
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)
            .map_err(LabError::system("socket"))?;
        let address = match &self.place {
            Place::Named(name) => abstract_address(name)?,
            Place::Around => UnixAddr::new(HOST_SOCKET).map_err(LabError::system(HOST_SOCKET))?,
        };
        let end = Instant::now() + limit;
        let result = loop {
            match connect(socket.as_raw_fd(), &address) {
                Err(Errno::EAGAIN) if Instant::now() < end => thread::sleep(ACCEPT_PAUSE),
                result => break result,
            }
        };
        match (result, &self.place) {
            (Ok(()), _) => {}
            (Err(Errno::ECONNREFUSED | Errno::ENOENT), Place::Named(name)) => {
                let running = if limit.is_zero() { Vec::new() } else { Self::list()? };
                return Err(LabError::NotUp { name: name.clone(), running });
            }
            (Err(Errno::EAGAIN), _) => return Err(LabError::Deaf),
            (Err(errno), _) => return Err(LabError::system("connect to the lab")(errno)),
        }
        let pid = listener::check(&socket).map_err(|stranger| LabError::Stranger {
            name: self.name().unwrap_or(HOST_SOCKET).into(),
            stranger: Box::new(stranger),
        })?;
        let blocking = FcntlArg::F_SETFL(OFlag::empty());
        fcntl(&socket, blocking).map_err(LabError::system("make a socket blocking"))?;
        Ok((socket.into(), pid))
    }
}

pub(crate) fn receive(channel: &Channel, during: &'static str) -> Result<Reply, LabError> {
    let received = channel.receive().map_err(LabError::system("hear from the lab"))?;
    Ok(received.ok_or(LabError::Ended(during))?.message)
}

pub(crate) fn unexpected(reply: Reply) -> LabError {
    match reply {
        Reply::Failed(why) => LabError::Failed(why),
        other => LabError::Failed(format!("the lab answered {other:?}; is it of another version?")),
    }
}

/// Longest wait for a lab's processes to end, ms. The kernel needs milliseconds unless one hangs in a system
/// call.
const END_MS_MAX: u16 = 60_000;

/// Waits until a process and its PID namespace are gone, and reaps it if it is a child of this process.
/// Returns false if it is still there after [`END_MS_MAX`].
pub(crate) fn wait_for_exit(pid: Pid) -> bool {
    // SAFETY: pidfd_open takes no pointers; the result is checked before it is owned.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    let mut gone = true;
    if let Ok(raw @ 0..) = i32::try_from(raw) {
        // SAFETY: the kernel has just made this descriptor for this process, and no other code has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(raw) };
        let mut waiting = [PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)];
        gone = loop {
            match poll(&mut waiting, PollTimeout::from(END_MS_MAX)) {
                Err(Errno::EINTR) => {}
                result => break result != Ok(0),
            }
        };
    }
    // This fails with ECHILD if it is not a child of this process.
    let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
    gone
}
