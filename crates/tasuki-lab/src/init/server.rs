//! The loop of a lab that is up: it handles requests of clients and ends of sessions.

mod clients;

use super::{
    fabric::Fabric,
    faults::PortRule,
    host::{LabHost, reap},
    outcome::Outcome,
    reserve::Reserve,
    selection,
    session::{self, SessionStart},
    setup::host_number,
};
use crate::{
    channel::Channel,
    init::jobs::Jobs,
    protocol::{
        CableStatus, DirectionStatus, ExecMessage, Fault, FaultKind, HostStatus, JobRole, LabStatus,
        StartMessage,
    },
};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
    unistd::{ForkResult, fork},
};
use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, Rate};

/// A lab that is up.
pub struct Server {
    message: StartMessage,
    cluster: Cluster,
    plan: AddressPlan,
    hosts: Vec<LabHost>,
    fabric: Fabric,
    listeners: [OwnedFd; 2],
    clients: Vec<Channel>,
    jobs: Jobs,
    starter: Option<Channel>,
    ending: bool,
    reserve: Reserve,
}

impl Server {
    /// Takes over what [`super::setup::build`] has made.
    pub fn new(
        message: StartMessage,
        cluster: Cluster,
        plan: AddressPlan,
        hosts: Vec<LabHost>,
        fabric: Fabric,
        listeners: [OwnedFd; 2],
    ) -> Self {
        let (clients, jobs) = (Vec::new(), Jobs::default());
        let (starter, reserve) = (None, Reserve::default());
        Self {
            message,
            cluster,
            plan,
            hosts,
            fabric,
            listeners,
            clients,
            jobs,
            starter,
            ending: false,
            reserve,
        }
    }

    /// Serves until a client takes the lab down, or the starter ends without having let it go.
    pub fn run(&mut self, starter: Channel) {
        self.starter = Some(starter);
        let mut interesting = SigSet::empty();
        interesting.extend([Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT]);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let Ok(signals) = SignalFd::with_flags(&interesting, flags) else { return };
        self.reserve.fill();
        while !self.ending {
            self.turn(&signals);
        }
    }

    fn turn(&mut self, signals: &SignalFd) {
        let mut waiting = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
        waiting.extend(self.listeners.iter().map(|listener| readable(listener.as_fd())));
        waiting.extend(self.clients.iter().map(|client| readable(client.as_fd())));
        waiting.extend(self.jobs.sockets().map(readable));
        let starter_at = waiting.len();
        waiting.extend(self.starter.iter().map(|starter| readable(starter.as_fd())));
        if poll(&mut waiting, PollTimeout::NONE).is_err() {
            return;
        }
        let ready: Vec<bool> = waiting.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        let clients_at = 1 + self.listeners.len();
        let jobs_at = clients_at + self.clients.len();
        let positions = |from: usize, to: usize| -> Vec<usize> {
            ready[from..to].iter().enumerate().filter(|(_, ready)| **ready).map(|(at, _)| at).collect()
        };
        let (listeners, clients, jobs) =
            (positions(1, clients_at), positions(clients_at, jobs_at), positions(jobs_at, starter_at));
        if ready[0] {
            self.take_signals(signals);
        }
        if ready.get(starter_at) == Some(&true) {
            // Its message comes with a descriptor.
            self.reserve.release();
            self.ending |= !self.starter.take().is_some_and(|starter| super::starter::let_go(&starter));
            self.reserve.fill();
        }
        self.jobs.readable(&jobs);
        // In the order in which they have come: those that have gone leave their descriptors to those behind.
        let asking: Vec<Channel> = clients.into_iter().rev().map(|at| self.clients.remove(at)).collect();
        asking.into_iter().rev().for_each(|client| self.serve(client));
        for position in listeners {
            self.accept(position);
        }
    }

    fn take_signals(&mut self, signals: &SignalFd) {
        while let Ok(Some(signal)) = signals.read_signal() {
            match Signal::try_from(signal.ssi_signo as i32) {
                Ok(Signal::SIGCHLD) => reap(),
                _ => self.ending = true,
            }
        }
    }

    fn exec(&mut self, message: ExecMessage, stdio: Vec<OwnedFd>, client: &Channel) -> Outcome<()> {
        let number = host_number(&self.cluster, &self.plan, &self.hosts, &message.host)
            .ok_or_else(|| crate::LabError::no_host(&self.cluster, &message.host).to_string())?;
        let job = match &message.job {
            JobRole::None => None,
            JobRole::Root => Some((self.jobs.new_name(), true)),
            JobRole::Member(name) if self.jobs.is_running(name) => Some((name.clone(), false)),
            JobRole::Member(name) => return Err(format!("the job {name} has ended")),
        };
        let job = match job {
            None => None,
            Some((name, root)) => {
                let socket = self.jobs.add(&name, root).map_err(super::outcome::while_doing("socketpair"))?;
                Some((socket, name))
            }
        };
        let client = client.as_fd().try_clone_to_owned().map_err(super::outcome::while_doing("dup"))?.into();
        let place = (number, self.hosts.len());
        let start = SessionStart { host: self.hosts[number].pid, place, message, stdio, client, job };
        // SAFETY: lab-init has one thread, so the child may run any code; it never returns from run().
        match unsafe { fork() } {
            Ok(ForkResult::Child) => session::run(start),
            Ok(ForkResult::Parent { .. }) => Ok(()),
            Err(error) => Err(format!("fork: {error}")),
        }
    }

    fn fault(&mut self, fault: &Fault) -> Outcome<()> {
        if self.message.options.unshaped {
            return Err("this lab is unshaped: its cables are bare, so no fault can be planted in them; \
                        start it without --unshaped"
                .into());
        }
        check(fault)?;
        let cables = selection::cables(&self.cluster, &fault.cables)?;
        let sides = |cable: usize| match &fault.from {
            None => Ok(vec![0, 1]),
            Some(from) => selection::side(&self.cluster, cable, from).map(|side| vec![side]),
        };
        let chosen =
            cables.into_iter().map(|cable| Ok((cable, sides(cable)?))).collect::<Outcome<Vec<_>>>()?;
        for (cable, sides) in chosen {
            let wire = self.fabric.wires[cable].as_mut().ok_or("the cable has no wire")?;
            apply(wire, fault.kind, &sides);
            self.fabric.update(cable)?;
        }
        Ok(())
    }

    fn status(&self) -> Outcome<LabStatus> {
        let cables = (0..self.cluster.cables.len()).map(|cable| self.cable_status(cable));
        Ok(LabStatus {
            options: self.message.options.clone(),
            cluster: self.message.cluster.clone(),
            source: self.message.source.clone(),
            pid: 0,
            hosts: (0..self.hosts.len()).map(|number| self.host_status(number)).collect(),
            cables: cables.collect::<Outcome<_>>()?,
        })
    }

    fn host_status(&self, number: usize) -> HostStatus {
        let name = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let own = name(self.hosts[number].pid.as_raw());
        let is_command = |pid: &i32| {
            let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            *pid != self.hosts[number].pid.as_raw() && comm.trim() != "tasuki-session"
        };
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        HostStatus {
            name: self.cluster.hosts[number].name.clone(),
            management: self.cluster.lab_management(HostId(number)).to_string(),
            identity: self.plan.hosts[number].identity.to_string(),
            processes: pids.filter(|&pid| name(pid) == own).filter(is_command).count(),
        }
    }

    fn cable_status(&self, cable: usize) -> Outcome<CableStatus> {
        let ends = self.cluster.cables[cable].ends.map(|end| self.cluster.end_name(end));
        let (Some(wire), Some(program)) = (&self.fabric.wires[cable], self.fabric.program()) else {
            return Ok(CableStatus { ends, rate: None, carrier: true, directions: Default::default() });
        };
        let direction = |side: usize| {
            let rule: PortRule = wire.rules[side];
            let count = program.counters(wire.ports[side])?;
            Ok::<_, String>(DirectionStatus {
                cut: rule.cut,
                loss: rule.loss,
                duplicate: rule.duplicate,
                corrupt: rule.corrupt,
                frames: count.frames,
                bytes: count.bytes,
                dropped: count.dropped,
                duplicated: count.duplicated,
                corrupted: count.corrupted,
            })
        };
        Ok(CableStatus {
            ends,
            rate: Some(wire.rate.bits_per_second),
            carrier: wire.up,
            directions: [direction(0)?, direction(1)?],
        })
    }
}

/// Checks that a change of faults makes sense, before anything is changed.
fn check(fault: &Fault) -> Outcome<()> {
    match fault.kind {
        FaultKind::Loss(p) | FaultKind::Duplicate(p) | FaultKind::Corrupt(p) if !(0.0..=1.0).contains(&p) => {
            Err(format!("{p} is not a likelihood; it must be between 0 and 1 (or 0% and 100%)"))
        }
        FaultKind::Rate(0) => Err("a rate of 0 is a cut; use `tasuki lab cut`".into()),
        FaultKind::Rate(_) if fault.from.is_some() => {
            Err("a cable has one rate for both directions; leave --from away".into())
        }
        _ => Ok(()),
    }
}

/// Changes the rules of a wire, for frames from one or both sides.
fn apply(wire: &mut super::fabric::Wire, kind: FaultKind, sides: &[usize]) {
    for &side in sides {
        let rule = &mut wire.rules[side];
        match kind {
            FaultKind::Cut { .. } => rule.cut = true,
            FaultKind::Heal => {
                *rule = PortRule { redirect: rule.redirect, seed: rule.seed, ..PortRule::default() };
            }
            FaultKind::Loss(p) => rule.loss = p,
            FaultKind::Duplicate(p) => rule.duplicate = p,
            FaultKind::Corrupt(p) => rule.corrupt = p,
            FaultKind::Rate(bits_per_second) => wire.rate = Rate { bits_per_second },
        }
    }
    match kind {
        FaultKind::Cut { keep_carrier } if sides.len() == 2 => wire.up = keep_carrier,
        FaultKind::Heal => wire.up = true,
        _ => {}
    }
}
