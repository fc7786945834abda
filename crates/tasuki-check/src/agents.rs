//! The agents of all hosts: all are told something at once, and all answers are awaited.

use crate::protocol::{Answer, Order};
use std::{
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::{Fleet, Task};

/// The hidden subcommand of `tasuki` that is an agent.
pub const AGENT_COMMAND: &str = "check-agent";

/// One host's agent.
struct Agent {
    host: String,
    child: Option<Child>,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
    /// Why it is not asked any more; `None`: it is.
    lost: Option<String>,
}

/// The agents of all hosts, in the order of the cluster.
pub struct Agents {
    agents: Vec<Agent>,
}

impl Agents {
    /// Starts an agent on every host of a fleet: [`crate::agent::run`] on the standard input and output of
    /// the host's [`AGENT_COMMAND`]. A host where that fails is among [`Agents::lost`].
    pub fn start(fleet: &Fleet) -> Self {
        let task = Task::tasuki([AGENT_COMMAND]);
        let start = |host| Agent::start(fleet.name(host), fleet.command(host, &task));
        Self { agents: (0..fleet.len()).map(start).collect() }
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
    /// answers, for no longer than `limit`.
    pub fn tell(
        &mut self,
        limit: Duration,
        order: impl Fn(usize) -> Option<Order>,
    ) -> Vec<Option<Result<Answer, String>>> {
        let mut asked = Vec::with_capacity(self.agents.len());
        for (number, agent) in self.agents.iter_mut().enumerate() {
            asked.push(order(number).map(|order| agent.send(&order)));
        }
        let end = Instant::now() + limit;
        let answers = self.agents.iter_mut().zip(asked);
        answers.map(|(agent, asked)| asked.map(|sent| sent.and_then(|()| agent.receive(end)))).collect()
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
        let input = child.as_mut().and_then(|child| child.stdin.take());
        let lines = follow(child.as_mut().and_then(|child| child.stdout.take()));
        let errors = follow(child.as_mut().and_then(|child| child.stderr.take()));
        Self { host, child, input, lines, errors, lost }
    }

    fn send(&mut self, order: &Order) -> Result<(), String> {
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

    fn receive(&mut self, end: Instant) -> Result<Answer, String> {
        let left = end.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(Answer::Failed(why)) => Err(why),
                Ok(answer) => Ok(answer),
                Err(_) => {
                    self.lost = Some("it answers oddly; is its tasuki of another version?".into());
                    Err(self.lost.clone().unwrap_or_default())
                }
            },
            Err(RecvTimeoutError::Timeout) => {
                self.lost = Some("it does not answer any more".into());
                Err(self.lost.clone().unwrap_or_default())
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.lose()),
        }
    }

    /// Finds out why the agent has ended, from the last lines of its standard error.
    fn lose(&mut self) -> String {
        let mut said = Vec::new();
        while let Ok(line) = self.errors.recv_timeout(Duration::from_millis(300)) {
            said.push(line);
        }
        let said = said[said.len().saturating_sub(3)..].join("; ");
        let why = if said.is_empty() {
            "its agent ended".to_owned()
        } else {
            format!("it does not answer: {said}")
        };
        self.lost.get_or_insert(why).clone()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The agent ends at the end of its input.
        drop(self.input.take());
        let Some(child) = &mut self.child else { return };
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Lines of a stream as they come.
fn follow(stream: Option<impl io::Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(stream) = stream {
        thread::spawn(move || {
            for line in BufReader::new(stream).lines() {
                if line.map(|line| sender.send(line)).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}
