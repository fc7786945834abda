//! The lab that is measured on, and the processes in it.

use super::{
    follow::Follow,
    polling::{PollingSampler, polling_thread},
};
use crate::{
    BenchError,
    lab::{LabBuilder, Testbed, peers::own_processor},
    load::{Done, Partner, Phase, Polled, Role, Steps, Timer, Work},
};
use nix::{
    sched::{CpuSet, sched_setaffinity},
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    ffi::OsString,
    io::Read,
    net::SocketAddrV4,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tasuki_cluster::{
    HostId,
    generate::{Options, Shape, generate},
};
use tasuki_lab::LabOptions;
use tasuki_process::run_limited;
use tasuki_sys::{clock::monotonic_ns, priority};

/// Port of the questions that the program under test asks.
const PORT: u16 = 7119;
/// The host under test, and its partner.
const HOSTS: [HostId; 2] = [HostId(0), HostId(1)];
/// Where the controller writes what it does, in its host.
const LOG: &str = "/run/tasuki-bench-tune.jsonl";
/// Longest time for what should take none.
const LIMIT: Duration = Duration::from_secs(20);
/// Time between two looks whether a process has ended.
const NAP: Duration = Duration::from_millis(20);

/// Two hosts, a cable, and what was found out about them.
pub(super) struct Field<'a> {
    network: Testbed,
    /// The NIC of the host under test.
    interface: String,
    timer: Timer,
    /// How fast the processor of the host under test works.
    steps: Steps,
    polling: PollingSampler,
    interrupted: &'a AtomicBool,
}

/// A process in a host and all that it starts. They end with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).map(Pid::from_raw);
        if let (Ok(None), Ok(group)) = (self.0.try_wait(), group) {
            let _ = killpg(group, Signal::SIGTERM);
        }
        let _ = self.0.wait();
    }
}

/// What came of the program under the controller.
pub(super) struct Tuned {
    /// By phase what the program did, and the mean delay, microseconds.
    pub done: Vec<(Done, f64)>,
    /// The controller's log, one object per period.
    pub log: Vec<Value>,
}

impl<'a> Field<'a> {
    /// Builds the lab. It ends with this value.
    pub fn new(
        timer: Timer,
        builder: &dyn LabBuilder,
        interrupted: &'a AtomicBool,
    ) -> Result<Self, BenchError> {
        let [Some(_), Some(_)] = HOSTS.map(|host| own_processor(host.0)) else {
            return Err(BenchError::refused("this needs two processors: one for each host"));
        };
        let cluster = generate(&Shape::Pair { cables: 1 }, &Options::default())?;
        let options = LabOptions { unshaped: true, ..LabOptions::named("bench-tune") };
        let network = builder.build("tune", cluster, options)?;
        let interface = |host: HostId| network.cluster.host_of(host).nics[0].name.clone();
        let mut threads = Vec::new();
        for host in HOSTS {
            let interface = interface(host);
            let Polled { instance } = ask(&network, host, &Role::SetUp { interface: interface.clone() })?;
            let thread = polling_thread(&format!("napi/{interface}-{instance}"))?;
            preempt_programs(thread, host.0)?;
            threads.push(thread);
        }
        let steps = ask(&network, HOSTS[0], &Role::Calibrate { cpu: 0 })?;
        let (interface, polling) = (interface(HOSTS[0]), PollingSampler::begin(threads[0])?);
        Ok(Self { network, interface, timer, steps, polling, interrupted })
    }

    /// What the kernel's thread does that takes what the host under test receives.
    pub fn polling(&self) -> &PollingSampler {
        &self.polling
    }

    /// Runs the program under test through some phases.
    pub fn run(&self, phases: Vec<Phase>, seed: u64) -> Result<Vec<Done>, BenchError> {
        let length: f64 = phases.iter().map(|phase| phase.warm_s + phase.seconds).sum();
        let listen = self.partner_address()?;
        let limit_s = length * 1.5 + LIMIT.as_secs_f64();
        let partner = Role::Partner(Partner { listen, cpu: 1, seed, limit_s });
        let _partner = self.start(HOSTS[1], &words(&partner)?)?;
        let (interface, steps_per_us) = (self.interface.clone(), self.steps.per_us);
        let work = Work { partner: listen, interface, cpu: 0, timer: self.timer, steps_per_us, seed, phases };
        let mut program = self.start(HOSTS[0], &words(&Role::Work(work))?)?;
        let text = self.output(&mut program, Duration::from_secs_f64(limit_s))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Runs the program under test through some phases while `tasuki tune run` sets the delay, up to
    /// `most_us` microseconds.
    pub fn run_tuned(&self, phases: Vec<Phase>, seed: u64, most_us: u32) -> Result<Tuned, BenchError> {
        let _ = run_limited(&mut self.network.command(HOSTS[0], ["rm", "-f", LOG]), LIMIT)?;
        let mut tuner = self.start(HOSTS[0], &self.tuner(most_us)?)?;
        let done = self.run(phases, seed)?;
        if let Some(status) = tuner.0.try_wait()? {
            return Err(BenchError::refused(format!("what follows the load has ended by itself: {status}")));
        }
        drop(tuner);
        let log = run_limited(&mut self.network.command(HOSTS[0], ["cat", LOG]), LIMIT)?.stdout;
        let log: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let done = done.into_iter().map(|done| (done, mean_us(&log, done.window_ns))).collect();
        Ok(Tuned { done, log })
    }

    /// Where the partner listens.
    fn partner_address(&self) -> Result<SocketAddrV4, BenchError> {
        let link = self.network.plan.hosts[1].links.first().map(|link| link.address);
        let address = link.ok_or_else(|| BenchError::refused("the second host has no address"))?;
        Ok(SocketAddrV4::new(address, PORT))
    }

    /// The arguments of what follows the load: `tasuki tune run`, or the same controller that tells the
    /// emulated NIC.
    fn tuner(&self, most_us: u32) -> Result<Vec<OsString>, BenchError> {
        let interface = self.interface.clone();
        if self.timer == Timer::Nic {
            let follow = Follow { interface, most_us, partner: self.partner_address()?, log: LOG.into() };
            return Ok(vec!["load-follow".into(), serde_json::to_string(&follow)?.into()]);
        }
        let most = format!("{most_us}us");
        Ok(["tune", "run", &interface, "--most", &most, "--log", LOG].map(OsString::from).to_vec())
    }

    fn start(&self, host: HostId, words: &[OsString]) -> Result<Running, BenchError> {
        let mut command: Command = self.network.tasuki(host, words);
        // A group of its own, because Ctrl-C is for this process alone, which ends the others.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Running(command.spawn()?))
    }

    /// What a process has said, which is little, once it has ended well.
    fn output(&self, running: &mut Running, limit: Duration) -> Result<String, BenchError> {
        let end = Instant::now() + limit;
        let status = loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(BenchError::Interrupted("interrupted"));
            }
            match running.0.try_wait()? {
                Some(status) => break status,
                None if Instant::now() > end => {
                    return Err(BenchError::refused("the program under test does not end"));
                }
                None => thread::sleep(NAP),
            }
        };
        let (mut said, mut complained) = (String::new(), String::new());
        running.0.stdout.take().map(|mut out| out.read_to_string(&mut said)).transpose()?;
        running.0.stderr.take().map(|mut out| out.read_to_string(&mut complained)).transpose()?;
        match status.success() {
            true => Ok(said),
            false => {
                Err(BenchError::refused(format!("the program under test: {status}: {}", complained.trim())))
            }
        }
    }
}

fn words(role: &Role) -> Result<[OsString; 2], BenchError> {
    Ok(["load-peer".into(), serde_json::to_string(role)?.into()])
}

/// Runs a process in a host that answers at once.
fn ask<T: DeserializeOwned>(network: &Testbed, host: HostId, role: &Role) -> Result<T, BenchError> {
    let output = run_limited(&mut network.tasuki(host, words(role)?), LIMIT)?;
    if output.is_success() {
        return Ok(serde_json::from_str(&output.stdout)?);
    }
    let name = &network.cluster.host_of(host).name;
    Err(BenchError::refused(format!("load peer in {name}: {}: {}", output.reason(), output.stderr_tail(3))))
}

/// Keeps a thread of the kernel on its host's processor, and has it preempt programs there, as an interrupt
/// does.
fn preempt_programs(thread: u32, cpu: usize) -> Result<(), BenchError> {
    let fail = |why: String| {
        BenchError::refused(format!(
            "cannot make the kernel's polling thread {thread} like an interrupt: {why}"
        ))
    };
    let pid = i32::try_from(thread).map(Pid::from_raw).map_err(|error| fail(error.to_string()))?;
    let mut set = CpuSet::new();
    set.set(cpu).and_then(|()| sched_setaffinity(pid, &set)).map_err(|error| fail(error.to_string()))?;
    priority::preempt(thread).map_err(|error| fail(error.to_string()))
}

/// The mean delay, microseconds, of the periods that ended in a window of CLOCK_MONOTONIC, nanoseconds.
fn mean_us(log: &[Value], window_ns: [u64; 2]) -> f64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let since = unix - monotonic_ns() as f64 * 1e-9;
    let [from, to] = window_ns.map(|ns| since + ns as f64 * 1e-9);
    let of = |period: &Value| Some((period["time"].as_f64()?, period["us"].as_f64()?));
    let inside = log.iter().filter_map(of).filter(|(time, _)| (from..=to).contains(time));
    let inside: Vec<f64> = inside.map(|(_, us)| us).collect();
    inside.iter().sum::<f64>() / inside.len().max(1) as f64
}
