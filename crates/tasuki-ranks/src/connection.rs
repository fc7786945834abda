//! The way to a host's agent: a command that reaches the host, whose streams two threads serve, so that no
//! host can hold up another one or the owner.

use crate::{
    PING,
    order::{Hello, VERSION},
};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    process::{self, Child, ChildStdout, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel},
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::Tail;
use tasuki_process::ChildInput;
use tasuki_shepherd::{Command, Event, Inbox, Message};

/// How many lines of standard error a reason quotes.
const TAIL_LINES: usize = 3;
/// How long the last words of an agent that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How many lines a start file of the host's shell may print before the agent's first word, and how long each
/// may be.
const GREETING_LINES: usize = 100;
const GREETING: u64 = 64 << 10;
/// How many characters of such a line a reason quotes.
const QUOTED: usize = 80;
/// How long an agent whose input has ended may take to end.
const END: Duration = Duration::from_secs(2);

/// What an owner hears.
#[derive(Debug)]
pub(crate) enum Word {
    /// The agent of a host, by its place in the job, says something.
    Host(usize, Said),
    /// A piece of standard input.
    Input(Vec<u8>),
    /// Standard input is at its end.
    InputEnd,
    /// A signal has come.
    Interrupted,
}

/// What comes of an agent.
#[derive(Debug)]
pub(crate) enum Said {
    /// Its first word.
    Hello(Hello),
    /// A word of its shepherd.
    Event(Event),
    /// No word comes any more, for this reason.
    Gone(String),
}

/// The way to one agent.
pub(crate) struct Connection {
    child: Child,
    orders: Sender<Vec<u8>>,
}

impl Connection {
    /// Starts the agent by a command that reaches its host. What the agent says comes with its number.
    ///
    /// # Errors
    /// Why the command cannot be started.
    pub fn start(
        mut command: process::Command,
        number: usize,
        words: SyncSender<Word>,
    ) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C on the terminal is the owner's alone: the agent is to be told of it in order.
        command.process_group(0);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| format!("cannot run {program}: {error}"))?;
        let tail = Tail::of(child.stderr.take(), TAIL_LINES);
        let (orders, to_write) = channel::<Vec<u8>>();
        if let Some(input) = child.stdin.take() {
            let input = ChildInput::from(input);
            // An agent that reads no more is found by its output's end.
            thread::spawn(move || write(input, &to_write));
        }
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let tell = |said| words.send(Word::Host(number, said)).is_ok();
                let why = listen(output, &tell);
                let last = tail.last(LAST_WORDS).join("; ");
                tell(Said::Gone(if last.is_empty() { why } else { last }));
            });
        }
        Ok(Self { child, orders })
    }

    /// Sends bytes to the agent, and does not wait until they are there.
    pub fn send(&self, bytes: Vec<u8>) {
        // One that is gone was told, or will be.
        let _ = self.orders.send(bytes);
    }

    /// Ends the agent's input, which ends the agent, and waits for that a little.
    pub fn close(self) {
        let Self { mut child, orders } = self;
        drop(orders);
        let end = Instant::now() + END;
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() >= end {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Writes what an agent is told, and a question where it was told nothing for a while, so that each side
/// hears that the other one is there. The first is the order, before which no question is understood.
fn write(mut input: ChildInput, to_write: &Receiver<Vec<u8>>) -> io::Result<()> {
    let Ok(order) = to_write.recv() else { return Ok(()) };
    input.write_all(&order)?;
    loop {
        match to_write.recv_timeout(PING) {
            Ok(bytes) => input.write_all(&bytes)?,
            Err(RecvTimeoutError::Timeout) => input.write_all(&Command::Query.encode())?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Tells what an agent says, until it says nothing any more. Returns why.
fn listen(output: ChildStdout, tell: &impl Fn(Said) -> bool) -> String {
    let mut output = BufReader::new(output);
    let hello = match greet(&mut output) {
        Ok(hello) => hello,
        Err(why) => return why,
    };
    if !tell(Said::Hello(hello)) {
        return String::new();
    }
    let mut inbox = Inbox::default();
    loop {
        let count = match output.fill_buf() {
            Ok([]) | Err(_) => return "its agent ended".into(),
            Ok(bytes) => {
                inbox.extend(bytes);
                bytes.len()
            }
        };
        output.consume(count);
        loop {
            let event = match inbox.take::<Event>() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(why) => return format!("its agent answers oddly: {why}"),
            };
            if !tell(Said::Event(event)) {
                return String::new();
            }
        }
    }
}

/// The first word of an agent. What a start file of the host's shell prints before it is passed over.
fn greet(output: &mut impl BufRead) -> Result<Hello, String> {
    let mut first = None;
    for _ in 0..GREETING_LINES {
        let mut line = Vec::new();
        match output.by_ref().take(GREETING).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        match serde_json::from_slice::<Hello>(&line) {
            Ok(hello) if hello.ranks_agent == VERSION => return Ok(hello),
            Ok(hello) => return Err(format!("its tasuki is {}, and this one {VERSION}", hello.ranks_agent)),
            Err(_) => {
                first.get_or_insert(line);
            }
        }
    }
    let quoted = first.map(|line| String::from_utf8_lossy(&line).trim_end().chars().take(QUOTED).collect());
    let quoted = quoted.map(|line: String| format!("; instead of an answer came {line:?}"));
    Err(format!("its agent ended{}", quoted.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_prints_before_the_first_word_is_passed_over() {
        let hello = format!("Welcome\n{{\n{{\"ranks_agent\":\"{VERSION}\",\"port\":7}}\nrest");
        let mut output = hello.as_bytes();
        assert_eq!(greet(&mut output).map(|hello| hello.port), Ok(7));
        assert_eq!(output, b"rest", "what follows is the shepherd's");
        let other = greet(&mut &b"{\"ranks_agent\":\"0.0.0\",\"port\":7}\n"[..]).unwrap_err();
        assert!(other.contains("0.0.0") && other.contains(VERSION), "{other}");
        let odd = greet(&mut &b"No account here\nx"[..]).unwrap_err();
        assert!(odd.contains("\"No account here\""), "{odd}");
    }
}
