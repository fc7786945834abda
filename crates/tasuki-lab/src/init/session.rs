//! A session: one command in a host, and what it leaves behind.
//!
//! The session process runs in the host. It is the parent of the command and adopts its orphans
//! (`PR_SET_CHILD_SUBREAPER`), so it finds and ends every descendant, daemons included.

use super::{
    cores,
    descendants::{descendants, end_descendants},
    host::exit_now,
    outcome::{Outcome, while_doing},
    share::{attach_tree, open_tree},
};
use crate::{
    JOB_VARIABLE,
    channel::Channel,
    protocol::{ExecMessage, JobRole, Reply, SessionMessage},
};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sched::{CloneFlags, setns},
    sys::{
        prctl,
        signal::{SigSet, Signal, killpg},
        signalfd::{SfdFlags, SignalFd},
        socket::{MsgFlags, recv, send},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, fork, setsid},
};
use std::{
    fs, io,
    mem::ManuallyDrop,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    path::PathBuf,
    process::{Command, Stdio},
};

/// Everything that a session needs.
pub struct SessionStart {
    /// Process 1 of the host.
    pub host: Pid,
    /// Number of the host, and number of hosts in the lab.
    pub place: (usize, usize),
    /// The command.
    pub message: ExecMessage,
    /// Its standard input, output and error.
    pub stdio: Vec<OwnedFd>,
    /// The client.
    pub client: Channel,
    /// Socket to `lab-init`'s table of jobs, and the job's name.
    pub job: Option<(OwnedFd, String)>,
}

/// Runs a session in a freshly forked child of `lab-init`.
pub fn run(start: SessionStart) -> ! {
    keep_only(&start);
    match enter(&start) {
        Err(why) => {
            let _ = start.client.send(&Reply::Failed(why), &[]);
            exit_now(1)
        }
        // SAFETY: this process has one thread, so the child may run any code. The session proper is a child
        // because a PID namespace is entered by children only.
        Ok(()) => match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                // The session's sockets close when the process ends: a process that waits for that waits
                // until the session is gone.
                let result = Session::start(start).map(|session| ManuallyDrop::new(session).live());
                exit_now(i32::from(result.is_err()))
            }
            _ => exit_now(0),
        },
    }
}

/// Closes everything that belongs to `lab-init`, because other clients wait for the end of its sockets.
fn keep_only(start: &SessionStart) {
    let mut keep: Vec<RawFd> = start.stdio.iter().map(AsRawFd::as_raw_fd).collect();
    keep.push(start.client.as_fd().as_raw_fd());
    keep.extend(start.job.iter().map(|(socket, _)| socket.as_raw_fd()));
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|&fd| fd > 2 && !keep.contains(&fd)) {
        // SAFETY: the owners of these descriptors are lab-init's values in this forked copy of its memory,
        // which are never used again nor dropped: the process ends with _exit.
        unsafe { libc::close(descriptor) };
    }
}

/// Enters the host, with the folders that it shares with the machine.
fn enter(start: &SessionStart) -> Outcome<()> {
    let trees = start
        .message
        .share
        .iter()
        .map(|path| open_tree(path).map(|tree| (path, tree)))
        .collect::<io::Result<Vec<_>>>()
        .map_err(while_doing("share a folder with the host"))?;
    // SAFETY: pidfd_open takes no pointers.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, start.host.as_raw(), 0) };
    if raw < 0 {
        return Err(format!("the host has ended: {}", io::Error::last_os_error()));
    }
    // SAFETY: the kernel has just made this descriptor for this process, and no other code has it.
    let host = unsafe { OwnedFd::from_raw_fd(raw as RawFd) };
    let all = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET;
    setns(&host, all).map_err(while_doing("enter the host"))?;
    let (number, hosts) = start.place;
    cores::keep_to(number, hosts)?;
    for (path, tree) in trees {
        attach_tree(path, tree).map_err(while_doing(format!("show {} in the host", path.display())))?;
    }
    Ok(())
}

struct Session {
    client: Channel,
    command: Pid,
    children: SignalFd,
    job: Option<OwnedFd>,
    role: JobRole,
}

/// What one turn of the loop has found.
enum Event {
    /// Nothing that ends the session.
    None,
    /// The command has ended.
    Ended(Reply),
    /// The client has gone.
    ClientGone,
    /// The job has ended.
    JobOver,
}

impl Session {
    fn start(start: SessionStart) -> Outcome<Self> {
        let SessionStart { message, stdio, client, job, .. } = start;
        match Self::spawn(&message, stdio, job.as_ref().map(|(_, name)| name.as_str())) {
            Ok((command, children)) => {
                let job = job.map(|(socket, _)| socket);
                Ok(Self { client, command, children, job, role: message.job })
            }
            Err(why) => {
                let _ = client.send(&Reply::Failed(why.clone()), &[]);
                Err(why)
            }
        }
    }

    fn spawn(message: &ExecMessage, stdio: Vec<OwnedFd>, job: Option<&str>) -> Outcome<(Pid, SignalFd)> {
        prctl::set_name(c"tasuki-session").map_err(while_doing("prctl"))?;
        prctl::set_child_subreaper(true).map_err(while_doing("prctl"))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let children =
            SignalFd::with_flags(&SigSet::from(Signal::SIGCHLD), flags).map_err(while_doing("signalfd"))?;
        let (program, arguments) = message.argv.split_first().ok_or("no command given")?;
        let [input, output, error] =
            <[OwnedFd; 3]>::try_from(stdio).map_err(|_| "a command needs three descriptors")?;
        if !message.cwd.is_dir() {
            let cwd = message.cwd.display();
            return Err(format!("the host has no folder {cwd}, where the command was to start"));
        }
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(message.env.iter().map(|(name, value)| (name, value)))
            .env("TMPDIR", "/tmp")
            .current_dir(&message.cwd)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(error));
        command.env_remove("HOSTNAME");
        if let Some(job) = job {
            command.env(JOB_VARIABLE, job);
        }
        let terminal = message.terminal;
        // SAFETY: all three calls are async-signal-safe; standard input is in place before this runs.
        unsafe {
            command.pre_exec(move || {
                setsid()?;
                if terminal && libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
                // lab-init blocks signals, and a signal mask is inherited.
                Ok(SigSet::empty().thread_set_mask()?)
            });
        }
        let child = command.spawn().map_err(|error| {
            let program = PathBuf::from(program);
            format!("cannot run {}: {error}", program.display())
        })?;
        Ok((Pid::from_raw(child.id() as i32), children))
    }

    fn live(&mut self) {
        // The command runs already. A client that has gone before it was told so has to be noticed like one
        // that goes later: else nobody would end the command.
        let told = self.client.send(&Reply::Started, &[]);
        let ended = if told.is_ok() { self.await_end() } else { None };
        match (&self.role, ended) {
            // As with ssh, what stays in the background goes on; the host's process 1 adopts it.
            (JobRole::None, Some(reply)) => self.tell(reply),
            (JobRole::None, None) => end_descendants(),
            (JobRole::Member(_), Some(reply)) => {
                self.tell(reply);
                self.await_job_end();
                end_descendants();
            }
            (JobRole::Member(_), None) => end_descendants(),
            (JobRole::Root, ended) => {
                end_descendants();
                self.end_job();
                if let Some(reply) = ended {
                    self.tell(reply);
                }
            }
        }
    }

    /// Waits until the command ends, and says how; `None`: its client or its job has gone before.
    fn await_end(&mut self) -> Option<Reply> {
        loop {
            match self.turn() {
                Event::None => {}
                Event::Ended(reply) => return Some(reply),
                Event::ClientGone | Event::JobOver => return None,
            }
        }
    }

    fn tell(&self, reply: Reply) {
        // Sending fails if the client has gone and does not want the answer.
        let _ = self.client.send(&reply, &[]);
    }

    fn turn(&mut self) -> Event {
        let client = PollFd::new(self.client.as_fd(), PollFlags::POLLIN);
        let children = PollFd::new(self.children.as_fd(), PollFlags::POLLIN);
        let mut waiting = vec![client, children];
        waiting.extend(self.job.iter().map(|job| PollFd::new(job.as_fd(), PollFlags::POLLIN)));
        if poll(&mut waiting, PollTimeout::NONE).is_err() {
            return Event::None;
        }
        let ready: Vec<bool> = waiting.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        if ready[1] {
            while let Ok(Some(_)) = self.children.read_signal() {}
            if let Some(reply) = self.reap() {
                return Event::Ended(reply);
            }
        }
        if ready[0] {
            match self.client.receive::<SessionMessage>() {
                Ok(Some(received)) => self.forward(&received.message),
                _ => return Event::ClientGone,
            }
        }
        if ready.get(2) == Some(&true) { Event::JobOver } else { Event::None }
    }

    fn forward(&self, SessionMessage::Signal(number): &SessionMessage) {
        if let Ok(signal) = Signal::try_from(*number) {
            // The group may be gone already; then the command's end is about to be found.
            let _ = killpg(self.command, signal);
        }
    }

    /// Reaps all children that have ended. Returns how the command ended, if it is among them.
    fn reap(&self) -> Option<Reply> {
        let mut ended = None;
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.command => {
                    ended = Some(Reply::Exited(code));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.command => {
                    ended = Some(Reply::Killed(signal as i32));
                }
                Ok(WaitStatus::StillAlive) | Err(_) => return ended,
                Ok(_) => {}
            }
        }
    }

    /// Goes on as the parent of what the command has left behind, until the job ends or nothing is left.
    fn await_job_end(&self) {
        let Some(job) = &self.job else { return };
        loop {
            self.reap();
            if descendants().is_some_and(|left| left.is_empty()) {
                return;
            }
            let mut waiting = [
                PollFd::new(job.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.children.as_fd(), PollFlags::POLLIN),
            ];
            let _ = poll(&mut waiting, PollTimeout::NONE);
            if waiting[0].any().unwrap_or(false) {
                return;
            }
            while let Ok(Some(_)) = self.children.read_signal() {}
        }
    }

    /// Has `lab-init` end the job's other sessions, and waits until they are gone.
    fn end_job(&self) {
        let Some(job) = &self.job else { return };
        if send(job.as_raw_fd(), b"e", MsgFlags::MSG_NOSIGNAL).is_err() {
            return;
        }
        wait_readable(job.as_fd(), JOB_END_MS_MAX);
        let _ = recv(job.as_raw_fd(), &mut [0u8; 1], MsgFlags::MSG_DONTWAIT);
    }
}

/// How long the root of a job waits for the sessions on other hosts: longer than [`end_descendants`] takes.
const JOB_END_MS_MAX: u16 = 10_000;

fn wait_readable(descriptor: BorrowedFd, ms_max: u16) {
    let mut waiting = [PollFd::new(descriptor, PollFlags::POLLIN)];
    let _ = poll(&mut waiting, PollTimeout::from(ms_max));
}
