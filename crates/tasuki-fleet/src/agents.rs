//! An agent on every host, which is given orders line by line: all are told something at once, and all
//! answers are awaited, for no longer than a limit.

use crate::{
    Fleet, Task,
    stream::{Tail, answers},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};
use tasuki_process::ChildInput;

/// How long agents may take to end once their input has ended.
const END: Duration = Duration::from_secs(2);
/// How long the last words of an agent that has ended are waited for, all together.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How many lines of standard error a reason quotes.
const TAIL_LINES: usize = 3;
/// How many lines a start file of the host's shell may print before the agent's first answer.
const GREETING_LINES: usize = 100;
/// How many characters of such a line a reason quotes.
const QUOTED: usize = 80;

/// One host's agent.
struct Agent {
    host: String,
    child: Option<Child>,
    input: Option<ChildInput>,
    lines: Receiver<String>,
    errors: Tail,
    /// Whether it has answered anything.
    has_answered: bool,
    /// The first line that it printed before its first answer, and that is none.
    greeting: Option<String>,
    /// Why it is not asked any more; `None`: it is.
    lost: Option<String>,
}

/// The agents of all hosts of a fleet, in the order of the hosts.
pub struct Agents {
    agents: Vec<Agent>,
    /// How long they may take to end once their input has ended.
    end: Duration,
}

impl Agents {
    /// Starts a task on every host, which reads orders on its standard input and answers each with a line on
    /// its standard output, until its input ends. A host where that fails is among [`Agents::lost`].
    pub fn start(fleet: &Fleet, task: &Task) -> Self {
        Self::start_on(fleet, 0..fleet.len(), task)
    }

    /// Like [`Self::start`], on the hosts of these numbers only.
    pub fn start_on(fleet: &Fleet, hosts: impl IntoIterator<Item = usize>, task: &Task) -> Self {
        let start = |host| Agent::start(fleet.name(host), fleet.command(host, task));
        Self { agents: hosts.into_iter().map(start).collect(), end: END }
    }

    /// Like [`Self::start`], but what reaches the hosts is in a process group of its own for each: Ctrl-C on
    /// this process's terminal does not end it, so that agents can still be given orders.
    pub fn start_apart(fleet: &Fleet, task: &Task) -> Self {
        let start = |host| {
            let mut command = fleet.command(host, task);
            command.process_group(0);
            Agent::start(fleet.name(host), command)
        };
        Self { agents: (0..fleet.len()).map(start).collect(), end: END }
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Whether there is no host.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Sends every host the order that `order` gives for it; for `None` the host is not asked. Waits for all
    /// answers, for no longer than `limit`; a host that has not answered by then is lost.
    ///
    /// # Errors
    /// For each host that has not answered: why.
    pub fn tell<O: Serialize, A: DeserializeOwned>(
        &mut self,
        limit: Duration,
        order: impl Fn(usize) -> Option<O>,
    ) -> Vec<Option<Result<A, String>>> {
        let asked = self.ask(order);
        self.receive_all(limit, asked)
    }

    /// Like [`Self::tell`]; before answers are awaited, `feed` writes to the standard input of the agent of
    /// host `fed` what follows its order. If it returns false, that input is closed. `limit` counts from
    /// then on.
    pub fn tell_feeding<O: Serialize, A: DeserializeOwned>(
        &mut self,
        limit: Duration,
        order: impl Fn(usize) -> Option<O>,
        fed: usize,
        feed: impl FnOnce(&ChildInput) -> bool,
    ) -> Vec<Option<Result<A, String>>> {
        let asked = self.ask(order);
        if let Some(agent) = self.agents.get_mut(fed)
            && let Some(input) = agent.input.take()
            && feed(&input)
        {
            agent.input = Some(input);
        }
        self.receive_all(limit, asked)
    }

    /// Sends all orders.
    fn ask<O: Serialize>(&mut self, order: impl Fn(usize) -> Option<O>) -> Vec<Option<Result<(), String>>> {
        let agents = self.agents.iter_mut().enumerate();
        agents.map(|(number, agent)| order(number).map(|order| agent.send(&order))).collect()
    }

    fn receive_all<A: DeserializeOwned>(
        &mut self,
        limit: Duration,
        asked: Vec<Option<Result<(), String>>>,
    ) -> Vec<Option<Result<A, String>>> {
        let end = Instant::now() + limit;
        let answers = self.agents.iter_mut().zip(asked);
        answers.map(|(agent, asked)| asked.map(|sent| sent.and_then(|()| agent.receive(end)))).collect()
    }

    /// Ends what reaches the hosts at once, for those that do not answer: an ssh that still connects, or
    /// whose host has stopped, does not see the end of its input.
    pub fn abandon(mut self) {
        self.end = Duration::ZERO;
        for child in self.agents.iter_mut().filter_map(|agent| agent.child.as_mut()) {
            // It may have ended already.
            let _ = child.kill();
        }
    }

    /// Hosts that were lost, and why.
    pub fn lost(&self) -> Vec<(String, String)> {
        let lost = self.agents.iter();
        lost.filter_map(|agent| Some((agent.host.clone(), agent.lost.clone()?))).collect()
    }
}

impl Agent {
    fn start(host: String, mut command: Command) -> Self {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let program = command.get_program().to_string_lossy().into_owned();
        let (mut child, lost) = match started {
            Ok(child) => (Some(child), None),
            Err(error) => (None, Some(format!("cannot run {program}: {error}"))),
        };
        let input = child.as_mut().and_then(|child| child.stdin.take()).map(ChildInput::from);
        let lines = answers(child.as_mut().and_then(|child| child.stdout.take()));
        let errors = Tail::of(child.as_mut().and_then(|child| child.stderr.take()), TAIL_LINES);
        Self { host, child, input, lines, errors, has_answered: false, greeting: None, lost }
    }

    fn send(&mut self, order: &impl Serialize) -> Result<(), String> {
        if let Some(why) = &self.lost {
            return Err(why.clone());
        }
        let mut line = serde_json::to_vec(order).map_err(|error| error.to_string())?;
        line.push(b'\n');
        let sent = match &mut self.input {
            Some(input) => input.write_all(&line).and_then(|()| input.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        sent.map_err(|_| self.lose())
    }

    fn receive<A: DeserializeOwned>(&mut self, end: Instant) -> Result<A, String> {
        let mut greetings = 0;
        let why = loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(answer) => {
                        self.has_answered = true;
                        return Ok(answer);
                    }
                    Err(_) if !self.has_answered && !is_json(&line) && greetings < GREETING_LINES => {
                        greetings += 1;
                        self.greeting.get_or_insert(line);
                    }
                    Err(_) => break "it answers oddly; is its tasuki of another version?".to_owned(),
                },
                Err(RecvTimeoutError::Timeout) => {
                    break format!("it does not answer any more{}", self.greeted());
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.lose()),
            }
        };
        self.lost = Some(why.clone());
        Err(why)
    }

    /// Finds out why the agent has ended, from the last lines of its standard error.
    fn lose(&mut self) -> String {
        let said = self.errors.last(LAST_WORDS).join("; ");
        let why = if said.is_empty() {
            if !self.has_answered && self.greeting.is_none() {
                self.greeting = self.lines.recv_timeout(LAST_WORDS).ok();
            }
            format!("its agent ended{}", self.greeted())
        } else {
            format!("it does not answer: {said}")
        };
        self.lost.get_or_insert(why).clone()
    }

    /// What was printed in the place of a first answer, for a reason.
    fn greeted(&self) -> String {
        let quoted = self.greeting.as_ref().filter(|_| !self.has_answered);
        let quoted = quoted.map(|line| line.chars().take(QUOTED).collect::<String>());
        quoted.map_or_else(String::new, |line| format!("; instead of an answer came {line:?}"))
    }
}

/// Whether a line has the form of an answer, if perhaps one of another version, and is not what a start file
/// of the host's shell prints.
fn is_json(line: &str) -> bool {
    line.starts_with(['{', '[', '"']) && serde_json::from_str::<serde_json::Value>(line).is_ok()
}

impl Drop for Agents {
    /// Ends all agents: each ends at the end of its input, and those that do not are killed.
    fn drop(&mut self) {
        self.agents.iter_mut().for_each(|agent| drop(agent.input.take()));
        let end = Instant::now() + self.end;
        for child in self.agents.iter_mut().filter_map(|agent| agent.child.as_mut()) {
            while matches!(child.try_wait(), Ok(None)) {
                if Instant::now() >= end {
                    // It may have ended meanwhile.
                    let _ = child.kill();
                    let _ = child.wait();
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

#[cfg(test)]
mod tests;
