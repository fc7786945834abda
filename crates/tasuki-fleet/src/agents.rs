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
        let mut silent = shell("cat > /dev/null");
        assert_eq!(ask(&mut silent, Duration::from_millis(50)), Err("it does not answer any more".into()));
        assert_eq!(ask(&mut silent, LONG), Err("it does not answer any more".into()));
        let mut ended = shell("read a; echo broken >&2; exit 3");
        assert!(ask(&mut ended, LONG).unwrap_err().contains("broken"));
        let mut odd = shell(r#"read a; echo '{"of": "another"}'; read b"#);
        assert!(ask(&mut odd, LONG).unwrap_err().contains("another version"));
        assert_eq!((odd.lost().len(), odd.len(), odd.is_empty()), (1, 1, false));
    }

    #[test]
    fn a_host_that_ends_its_answers_and_goes_on_complaining_is_lost_at_once() {
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut chatty = shell("read a; exec >&-; while :; do echo x >&2; sleep 0.05; done");
            // The test has failed already if nobody receives this.
            let _ = sender.send(ask(&mut chatty, LONG));
        });
        let answer = receiver.recv_timeout(LONG).expect("the wait for last words ends");
        assert!(answer.unwrap_err().starts_with("it does not answer: x"));
    }

    #[test]
    fn what_start_files_print_before_the_first_answer_is_passed_over() {
        let script = r"echo Welcome; printf '\377\n[1\n'; read a; echo 7; read b; echo oh; read c";
        let mut greeted = shell(script);
        assert_eq!(ask(&mut greeted, LONG), Ok(7));
        assert!(ask(&mut greeted, LONG).unwrap_err().contains("another version"), "later it is an answer");
        let mut refused = shell("echo This account is not available.; exit 1");
        let why = ask(&mut refused, LONG).unwrap_err();
        assert!(why.contains("\"This account is not available.\""), "{why}");
        let mut endless = shell("yes");
        assert!(ask(&mut endless, LONG).unwrap_err().contains("oddly"));
    }
}
