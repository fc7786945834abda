//! What a message costs in counts that no clock changes: system calls to send and to receive, and allocations. A child exchanges
//! messages under the eyes of its parent, which sees every system call (ptrace(2)). Needs root, for the cable.

mod child;
mod pair;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// Name of the variable that makes a child, and says which.
const CHILD: &str = "TASUKI_COST_CHILD";

/// What one message may take at most. Some room is for acknowledgements that go by themselves; allocations there are none.
struct Limit {
    way: &'static str,
    bytes: usize,
    sends: f64,
    receives: f64,
}

const LIMITS: [Limit; 6] = [
    Limit { way: "shared", bytes: 8, sends: 0.0, receives: 0.0 },
    Limit { way: "udp", bytes: 8, sends: 1.05, receives: 1.05 },
    Limit { way: "raw", bytes: 8, sends: 1.05, receives: 0.0 },
    Limit { way: "shared", bytes: 4096, sends: 0.0, receives: 0.0 },
    // Three packets of MTU 1500 in one call, and one for their acknowledgement, which is due with the second.
    Limit { way: "udp", bytes: 4096, sends: 2.05, receives: 2.05 },
    Limit { way: "raw", bytes: 4096, sends: 2.05, receives: 0.0 },
];

const SENDS: [i64; 3] = [libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg];
const RECEIVES: [i64; 3] = [libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_recvmmsg];

fn main() -> ExitCode {
    if let Ok(what) = std::env::var(CHILD) {
        return child::run(&what);
    }
    // The harness asks for a list, or for names that are not ours.
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--list") {
        println!("counts: test");
        return ExitCode::SUCCESS;
    }
    if args.iter().any(|arg| !arg.starts_with('-') && !"counts".contains(arg.as_str())) {
        return ExitCode::SUCCESS;
    }
    if !nix::unistd::geteuid().is_root() {
        println!("test counts ... skipped: needs root to make network namespaces");
        return ExitCode::SUCCESS;
    }
    let failures: Vec<String> = LIMITS.iter().filter_map(|limit| check(limit).err()).collect();
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    println!(
        "test counts ... {}\n\ntest result: {}. {} passed; {} failed; 0 ignored",
        if failures.is_empty() { "ok" } else { "FAILED" },
        if failures.is_empty() { "ok" } else { "FAILED" },
        u8::from(failures.is_empty()),
        u8::from(!failures.is_empty()),
    );
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(limit: &Limit) -> Result<(), String> {
    let name = format!("{} {} bytes", limit.way, limit.bytes);
    let calls =
        trace(&format!("{} {}", limit.way, limit.bytes)).map_err(|error| format!("{name}: {error}"))?;
    let each = |numbers: &[i64]| {
        let count: u64 = numbers.iter().filter_map(|number| calls.get(&(*number as u64))).sum();
        count as f64 / child::MESSAGES as f64
    };
    let (sends, receives) = (each(&SENDS), each(&RECEIVES));
    println!("{name}: {sends:.3} calls to send and {receives:.3} to receive for a message");
    if sends > limit.sends || receives > limit.receives {
        return Err(format!("{name}: more than {} to send or {} to receive", limit.sends, limit.receives));
    }
    Ok(())
}

/// Counts the system calls of the child's main thread between its marks, by number.
fn trace(what: &str) -> Result<BTreeMap<u64, u64>, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    command.env(CHILD, what);
    // SAFETY: ptrace(PTRACE_TRACEME) is one system call, which may be made between fork and exec.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
    let child = command.spawn().map_err(|error| format!("cannot be traced: {error}"))?;
    let pid = Pid::from_raw(child.id() as i32);
    let mut calls = BTreeMap::new();
    let (mut counting, mut entry) = (false, false);
    loop {
        let signal = match waitpid(pid, None).map_err(|error| error.to_string())? {
            WaitStatus::Exited(_, 0) => return Ok(calls),
            WaitStatus::Exited(_, code) => return Err(format!("the child ended with {code}")),
            WaitStatus::Signaled(_, signal, _) => return Err(format!("the child ended by {signal}")),
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                ptrace::setoptions(pid, ptrace::Options::PTRACE_O_TRACESYSGOOD)
                    .map_err(|error| error.to_string())?;
                None
            }
            WaitStatus::Stopped(_, signal) => Some(signal),
            WaitStatus::PtraceSyscall(_) => {
                entry = !entry;
                if entry {
                    let number = entered(pid)?;
                    counting ^= number == child::MARK as u64;
                    if counting {
                        *calls.entry(number).or_default() += 1;
                    }
                }
                None
            }
            _ => None,
        };
        ptrace::syscall(pid, signal).map_err(|error| error.to_string())?;
    }
}

/// Number of the system call that the child has just entered.
fn entered(pid: Pid) -> Result<u64, String> {
    let info = ptrace::syscall_info(pid).map_err(|error| error.to_string())?;
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return Err("the kernel's order of system calls is not understood".to_owned());
    }
    // SAFETY: the kernel says that this member of the union is the one it has filled.
    Ok(unsafe { info.u.entry.nr })
}
