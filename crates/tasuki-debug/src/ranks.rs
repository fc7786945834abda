//! The debuggers of all hosts, from where they are asked.

use crate::{
    AGENT_COMMAND,
    order::{Order, Report, State},
    target::{Debuggee, Target},
};
use std::time::{Duration, Instant};
use tasuki_fleet::{Agents, Fleet, Task};

/// How long an agent may take for an answer that needs no debugger, or lets debuggers end.
const ANSWER: Duration = Duration::from_secs(30);
/// How often agents hear something: those that do not for long let their processes go.
const SIGN: Duration = Duration::from_secs(20);

/// A process that is meant, and its debugger.
#[derive(Clone, Debug)]
pub struct Member {
    /// The number of its host in the fleet.
    pub host: usize,
    /// Its host's name.
    pub host_name: String,
    /// The process.
    pub debuggee: Debuggee,
    /// What its debugger does.
    pub state: State,
    /// What its debugger has said and nobody has taken yet.
    pub text: String,
}

impl Member {
    /// What it is called: by its rank, or by its number and host.
    pub fn name(&self) -> String {
        match self.debuggee.rank {
            Some(rank) => rank.to_string(),
            None => format!("{}@{}", self.debuggee.pid, self.host_name),
        }
    }
}

/// The processes that are meant, on all hosts of a fleet.
pub struct Ranks {
    agents: Agents,
    hosts: Vec<String>,
    /// When all agents were given an order last.
    signed: Instant,
    /// By rank, host and number.
    pub members: Vec<Member>,
}

impl Ranks {
    /// Takes those out that no debugger can have, and says why.
    pub fn set_apart(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        self.members.retain(|member| {
            let problem = &member.debuggee.problem;
            let of = |why| format!("{}: process {}: {why}", member.host_name, member.debuggee.pid);
            problems.extend(problem.iter().map(of));
            problem.is_none()
        });
        problems
    }

    /// Takes those out whose debuggers are gone, and says why.
    pub fn set_lost_apart(&mut self) -> Vec<String> {
        for member in &mut self.members {
            if let State::Gone(why) = &member.state {
                member.debuggee.problem = Some(why.clone());
            }
        }
        self.set_apart()
    }

    /// Starts an agent on every host. No process is touched.
    pub fn new(fleet: &Fleet) -> Self {
        // Agents see by the end of their input that this process has ended, and need time to let processes
        // go on then.
        let agents = Agents::start_apart(fleet, &Task::tasuki([AGENT_COMMAND]).lasting());
        let hosts = (0..fleet.len()).map(|host| fleet.name(host)).collect();
        Self { agents, hosts, signed: Instant::now(), members: Vec::new() }
    }

    /// Finds the processes that are meant. Returns which hosts did not answer or could not read all, and why.
    pub fn find(&mut self, target: &Target) -> Vec<String> {
        let answers = self.agents.tell::<_, Report>(ANSWER, |_| Some(Order::List(target.clone())));
        let (mut members, mut problems) = (Vec::new(), Vec::new());
        for ((host, name), answer) in self.hosts.iter().enumerate().zip(answers) {
            match answer {
                Some(Ok(report)) => {
                    problems.extend(report.problems.iter().map(|problem| format!("{name}: {problem}")));
                    members.extend(report.found.into_iter().map(|debuggee| Member {
                        host,
                        host_name: name.clone(),
                        state: State::Gone("it has no debugger yet".into()),
                        debuggee,
                        text: String::new(),
                    }));
                }
                Some(Err(why)) => problems.push(format!("{name}: {why}")),
                None => {}
            }
        }
        members.sort_by_key(|member| {
            (member.debuggee.rank.unwrap_or(u32::MAX), member.host, member.debuggee.pid)
        });
        self.members = members;
        problems
    }

    /// Runs a debugger for each process that was found; they stand still soon.
    pub fn attach(&mut self) {
        let orders: Vec<_> = (0..self.hosts.len())
            .map(|host| {
                let own = self.members.iter().filter(|member| member.host == host);
                let own: Vec<_> = own.map(|member| member.debuggee.clone()).collect();
                (!own.is_empty()).then_some(Order::Attach(own))
            })
            .collect();
        self.members.iter_mut().for_each(|member| member.state = State::Busy);
        self.tell(ANSWER, |host| orders[host].clone());
    }

    /// Gives the debuggers of these members a command; those that are at work are passed over.
    pub fn command(&mut self, of: &[usize], text: &str) {
        let pids = self.pids(of, |state| *state == State::Stopped);
        of.iter().for_each(|&at| {
            let member = &mut self.members[at];
            if member.state == State::Stopped {
                member.state = State::Busy;
            }
        });
        self.tell(ANSWER, |host| some(&pids[host]).map(|pids| Order::Command(pids, text.into())));
    }

    /// Lets all agents know now and then that they are still needed. Returns which members are lost.
    pub fn keep(&mut self) -> Vec<String> {
        if self.signed.elapsed() < SIGN {
            return Vec::new();
        }
        self.signed = Instant::now();
        let is_there = |state: &State| !matches!(state, State::Gone(_));
        let (all, there) = (self.all(), self.pids(&self.all(), is_there));
        let before: Vec<bool> = all.iter().map(|&at| is_there(&self.members[at].state)).collect();
        self.tell(ANSWER, |host| some(&there[host]).map(|_| Order::Wait(0)));
        let lost = self.members.iter().zip(before).filter_map(|(member, was_there)| match &member.state {
            State::Gone(why) if was_there => Some(format!("rank {}: {why}", member.name())),
            _ => None,
        });
        lost.collect()
    }

    /// Takes in what debuggers have said, waiting for it no longer than this on each host.
    pub fn wait(&mut self, limit: Duration) {
        // Those that wait see by their states which members are lost.
        let _ = self.keep();
        let ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let pids = self.pids(&self.all(), State::is_at_work);
        self.tell(ANSWER + limit, |host| some(&pids[host]).map(|_| Order::Wait(ms)));
    }

    /// Stops the processes of these members, or ends what their debuggers do.
    pub fn interrupt(&mut self, of: &[usize]) {
        let pids = self.pids(of, State::is_at_work);
        self.tell(ANSWER, |host| some(&pids[host]).map(Order::Interrupt));
    }

    /// Lets these members go on without a debugger.
    pub fn detach(&mut self, of: &[usize]) {
        let pids = self.pids(of, |state| !matches!(state, State::Gone(_)));
        self.tell(ANSWER, |host| some(&pids[host]).map(Order::Detach));
    }

    /// The places of all members.
    pub fn all(&self) -> Vec<usize> {
        (0..self.members.len()).collect()
    }

    /// The numbers of the processes of these members by host, of those in such a state.
    fn pids(&self, of: &[usize], such: impl Fn(&State) -> bool) -> Vec<Vec<u32>> {
        let mut pids = vec![Vec::new(); self.hosts.len()];
        for member in of.iter().map(|&at| &self.members[at]).filter(|member| such(&member.state)) {
            pids[member.host].push(member.debuggee.pid);
        }
        pids
    }

    /// Gives orders, and takes in what is answered.
    fn tell(&mut self, limit: Duration, order: impl Fn(usize) -> Option<Order>) {
        let answers = self.agents.tell::<_, Report>(limit, order);
        for (host, answer) in answers.into_iter().enumerate() {
            let own = self.members.iter_mut().filter(|member| member.host == host);
            match answer {
                Some(Ok(report)) => {
                    for member in own {
                        let told = report.states.iter().find(|told| told.pid == member.debuggee.pid);
                        if let Some(told) = told {
                            member.state = told.state.clone();
                            member.text += &told.text;
                        }
                    }
                }
                Some(Err(why)) => own.for_each(|member| member.state = State::Gone(why.clone())),
                None => {}
            }
        }
    }
}

fn some(pids: &[u32]) -> Option<Vec<u32>> {
    (!pids.is_empty()).then(|| pids.to_vec())
}
