//! Starts one rank.

use crate::{
    End, JOB_ID, JobSpec, RankSpec, RankState, Residence, Stream, cgroup, child,
    child::Steps,
    outbox::Outbox,
    rank::{PmiLink, Rank, Source},
};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    sched::CpuSet,
    sys::socket::{AddressFamily, SockFlag, SockType, socketpair},
    unistd::{getpid, pipe2},
};
use std::{
    ffi::{CString, OsString},
    fs::File,
    io::{self, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, process::CommandExt},
    },
    process::{Child, Command, Stdio},
};

/// Variables that would tell a rank of another job, from which this one may have been submitted.
const FOREIGN: [&str; 8] = [
    "PMI_FD",
    "PMI_PORT",
    "PMI_ID",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_SPAWNED",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
];

/// A rank that runs, with the shepherd's end of rank 0's standard input.
pub type Started = (Rank, Option<OwnedFd>);

/// Starts a rank of a job.
///
/// # Errors
/// Why not, for the user.
pub fn start(job: &JobSpec, rank: &RankSpec, residence: &Residence) -> Result<Started, String> {
    let what = |what: &'static str| move |error: Errno| format!("cannot {what}: {}", error.desc());
    let (ours, theirs) = match &job.pmi {
        Some(_) => {
            let kind = (AddressFamily::Unix, SockType::Stream);
            let pair = socketpair(kind.0, kind.1, None, SockFlag::SOCK_CLOEXEC);
            let (ours, theirs) = pair.map_err(what("make a PMI connection"))?;
            (Some(ours), Some(theirs))
        }
        None => (None, None),
    };
    let (report, write_end) = pipe2(OFlag::O_CLOEXEC).map_err(what("make a pipe"))?;
    let steps = steps(job, rank, residence, theirs.as_ref(), write_end)?;
    let mut command = command(job, rank, theirs.as_ref());
    // SAFETY: between fork and exec only Steps::take runs, which makes system calls with what was prepared
    // before, allocates nothing and takes no lock.
    unsafe { command.pre_exec(move || steps.take()) };
    let spawned = command.spawn();
    // The write end of the report closes with the command.
    drop(command);
    let mut child = spawned.map_err(|error| failure(job, &error, report))?;
    let stdin = child.stdin.take().map(OwnedFd::from);
    let failed = what("prepare the rank's streams");
    let result = watch(&mut child, rank.rank, ours, stdin.as_ref()).map_err(failed);
    if result.is_err() {
        // It has just been started, and nobody would watch it.
        let _ = child.kill();
        let _ = child.wait();
    }
    result.map(|rank| (rank, stdin))
}

fn steps(
    job: &JobSpec,
    rank: &RankSpec,
    residence: &Residence,
    pmi: Option<&OwnedFd>,
    report: OwnedFd,
) -> Result<Steps, String> {
    let open = |path| File::options().write(true).open(path).map(OwnedFd::from);
    let door = cgroup::door(residence).map(open).transpose();
    let mut cores = CpuSet::new();
    for &core in &rank.cores {
        cores.set(core as usize).map_err(|_| format!("there is no core {core}"))?;
    }
    let folder = CString::new(job.program.folder.as_os_str().as_bytes());
    let ids =
        job.user.as_ref().map(|user| user.ids.as_ref().ok_or("its user was not looked up")).transpose()?;
    Ok(Steps {
        door: door.map_err(|error| format!("cannot open the job's cgroup: {error}"))?,
        limits: job.user.iter().flat_map(|user| user.limits.clone()).collect(),
        cores: (!rank.cores.is_empty()).then_some(cores),
        ids: ids.and_then(child::ids),
        umask: job.program.umask.map(|mask| mask & 0o777),
        folder: folder.map_err(|_| "the name of the working directory holds a zero byte".to_owned())?,
        pmi: pmi.map(child::number),
        parent: getpid(),
        report,
    })
}

fn command(job: &JobSpec, rank: &RankSpec, pmi: Option<&OwnedFd>) -> Command {
    let mut command = Command::new(&job.program.argv[0]);
    command.args(&job.program.argv[1..]).env_clear();
    let is_own = |(name, _): &&(OsString, OsString)| !FOREIGN.iter().any(|foreign| name == foreign);
    command.envs(job.program.env.iter().filter(is_own).map(|(name, value)| (name, value)));
    command.env(JOB_ID, &job.id);
    if let (Some(pmi), Some(descriptor)) = (&job.pmi, pmi) {
        let local = pmi.shape.ranks_of(pmi.host);
        let place = local.iter().take_while(|of| **of != rank.rank).count();
        let numbers = [
            ("PMI_FD", child::number(descriptor) as usize),
            ("PMI_RANK", rank.rank as usize),
            ("PMI_SIZE", pmi.shape.hosts_of_ranks.len()),
            ("MPI_LOCALRANKID", place),
            ("MPI_LOCALNRANKS", local.len()),
        ];
        command.envs(numbers.map(|(name, number)| (name, number.to_string())));
    }
    command.envs(rank.env.iter().map(|(name, value)| (name, value)));
    command.stdin(if rank.rank == 0 { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Why a rank was not started: the step that failed, or the exec after all steps.
fn failure(job: &JobSpec, error: &io::Error, report: OwnedFd) -> String {
    let why =
        error.raw_os_error().map_or_else(|| error.to_string(), |code| Errno::from_raw(code).desc().into());
    let mut step = [0];
    let program = job.program.argv[0].to_string_lossy();
    match File::from(report).read(&mut step) {
        Ok(1) => {
            let user = job.user.as_ref().map(|user| format!(" (as user {})", user.name)).unwrap_or_default();
            let folder = job.program.folder.display();
            match child::name_of(step[0]) {
                what @ "enter the working directory" => format!("cannot {what} {folder}{user}: {why}"),
                what => format!("cannot {what}{user}: {why}"),
            }
        }
        _ => format!("cannot run {program}: {why}"),
    }
}

fn watch(child: &mut Child, rank: u32, pmi: Option<OwnedFd>, stdin: Option<&OwnedFd>) -> nix::Result<Rank> {
    let out = child.stdout.take().map(OwnedFd::from).ok_or(Errno::EBADF)?;
    let err = child.stderr.take().map(OwnedFd::from).ok_or(Errno::EBADF)?;
    for descriptor in [Some(&out), Some(&err), pmi.as_ref(), stdin].into_iter().flatten() {
        do_not_block(descriptor)?;
    }
    Ok(Rank {
        state: RankState { rank, pid: child.id(), end: None::<End> },
        sources: [Source::new(Stream::Out, out), Source::new(Stream::Err, err)],
        pmi: PmiLink { socket: pmi, answers: Outbox::default() },
    })
}

/// Has reads and writes of a descriptor return at once.
///
/// # Errors
/// What the system says.
pub fn do_not_block(descriptor: impl AsFd) -> nix::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(descriptor.as_fd(), FcntlArg::F_GETFL)?);
    fcntl(descriptor.as_fd(), FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK)).map(drop)
}
