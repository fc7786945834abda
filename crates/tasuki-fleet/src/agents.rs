//! An agent on every host, which is given orders line by line: all are told something at once, and all
//! answers are awaited, for no longer than a limit.

use crate::{Fleet, Task};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};
use tasuki_process::ChildInput;

/// How long agents may take to end once their input has ended.
const END: Duration = Duration::from_secs(2);
/// How long the last words of an agent that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How many lines of standard error a reason quotes.
const TAIL_LINES: usize = 3;

/// One host's agent.
struct Agent {
    host: String,
    child: Option<Child>,
    input: Option<ChildInput>,
    lines: Receiver<String>,
    errors: Receiver<String>,
    /// Why it is not asked any more; `None`: it is.
    lost: Option<String>,
}

/// The agents of all hosts of a fleet, in the order of the hosts.
pub struct Agents {
    agents: Vec<Agent>,
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
        Self { agents: hosts.into_iter().map(start).collect() }
    }

    /// Like [`Self::start`], but what reaches the hosts is in a process group of its own for each: Ctrl-C on
    /// this process's terminal does not end it, so that agents can still be given orders.
    pub fn start_apart(fleet: &Fleet, task: &Task) -> Self {
        let start = |host| {
            let mut command = fleet.command(host, task);
            command.process_group(0);
            Agent::start(fleet.name(host), command)
        };
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
        let lines = follow(child.as_mut().and_then(|child| child.stdout.take()));
        let errors = follow(child.as_mut().and_then(|child| child.stderr.take()));
        Self { host, child, input, lines, errors, lost }
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
        let left = end.saturating_duration_since(Instant::now());
        let why = match self.lines.recv_timeout(left) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(answer) => return Ok(answer),
                Err(_) => "it answers oddly; is its tasuki of another version?",
            },
            Err(RecvTimeoutError::Timeout) => "it does not answer any more",
            Err(RecvTimeoutError::Disconnected) => return Err(self.lose()),
        };
        self.lost = Some(why.into());
        Err(why.into())
    }

    /// Finds out why the agent has ended, from the last lines of its standard error.
    fn lose(&mut self) -> String {
        let mut said = Vec::new();
        while let Ok(line) = self.errors.recv_timeout(LAST_WORDS) {
            said.push(line);
        }
        let said = said[said.len().saturating_sub(TAIL_LINES)..].join("; ");
        let why = if said.is_empty() {
            "its agent ended".to_owned()
        } else {
            format!("it does not answer: {said}")
        };
        self.lost.get_or_insert(why).clone()
    }
}

impl Drop for Agents {
    /// Ends all agents: each ends at the end of its input, and those that do not are killed.
    fn drop(&mut self) {
        self.agents.iter_mut().for_each(|agent| drop(agent.input.take()));
        let end = Instant::now() + END;
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

/// Lines of a stream as they come.
fn follow(stream: Option<impl io::Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(stream) = stream {
        thread::spawn(move || {
            for line in BufReader::new(stream).lines() {
                // `lines` gives an error for text that is not UTF-8, and may do so for ever.
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent on this machine that a shell plays.
    fn shell(script: &str) -> Agents {
        Agents::start(&Fleet::Local, &Task::program(["sh", "-c", script]))
    }

    fn ask(agents: &mut Agents, limit: Duration) -> Result<u32, String> {
        agents.tell(limit, |_| Some("order")).remove(0).expect("it was asked")
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn orders_are_lines_and_so_are_answers() {
        let mut agents = shell(r#"read a; echo 7; read b; [ "$a$b" = '"order""order"' ] && echo 8; read c"#);
        assert_eq!([ask(&mut agents, LONG), ask(&mut agents, LONG)], [Ok(7), Ok(8)]);
        assert_eq!(agents.lost(), []);
        assert!(agents.tell::<u8, u8>(LONG, |_| None)[0].is_none(), "it was not asked");
    }

    #[test]
    fn a_host_that_is_lost_is_named_with_the_reason_and_not_waited_for_again() {
        let mut silent = shell("sleep 1000");
        assert_eq!(ask(&mut silent, Duration::from_millis(50)), Err("it does not answer any more".into()));
        assert_eq!(ask(&mut silent, LONG), Err("it does not answer any more".into()));
        let mut ended = shell("read a; echo broken >&2; exit 3");
        assert!(ask(&mut ended, LONG).unwrap_err().contains("broken"));
        let mut odd = shell("read a; echo nonsense; read b");
        assert!(ask(&mut odd, LONG).unwrap_err().contains("another version"));
        assert_eq!((odd.lost().len(), odd.len(), odd.is_empty()), (1, 1, false));
    }
}
