//! Setting NICs down again that a discovery has brought up, however its agent ends. That is the work of a
//! process of its own, which waits for the end of the agent: the end of its standard input.

use crate::protocol::GUARD_COMMAND;
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};
use tasuki_fleet::this_program;
use tasuki_sys::netlink::{Link, Netlink};

/// What a guard says when it is ready, and when NICs are down again.
const READY: &str = "ready";
const DONE: &str = "done";
/// How long a guard may take for either.
const LIMIT: Duration = Duration::from_secs(10);

/// The guard of an agent.
pub struct Guard {
    child: Child,
    /// Its end is what the guard waits for.
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Guard {
    /// Starts a guard for these NICs, before they are brought up. `None`: there are none.
    pub fn start(down: &[&Link]) -> Result<Option<Self>, String> {
        if down.is_empty() {
            return Ok(None);
        }
        let names = down.iter().map(|link| link.name.as_str());
        let mut command = this_program([GUARD_COMMAND].into_iter().chain(names));
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.map_err(|error| format!("cannot start the guard of NICs: {error}"))?;
        let (sender, lines) = channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                // It ends when the guard ends or nobody listens any more.
                let _ = lines.map(|line| sender.send(line)).take_while(Result::is_ok).count();
            });
        }
        let guard = Self { input: child.stdin.take(), child, lines };
        match guard.lines.recv_timeout(LIMIT) {
            Ok(line) if line == READY => Ok(Some(guard)),
            _ => Err("the guard of NICs did not start".into()),
        }
    }

    /// Has the guard set the NICs down, and waits until they are.
    pub fn end(mut self) -> Result<(), String> {
        drop(self.input.take());
        let said = self.lines.recv_timeout(LIMIT);
        match said {
            Ok(line) if line == DONE => {
                // Having said so, it ends.
                let _ = self.child.wait();
                Ok(())
            }
            Ok(line) => Err(format!("NICs that were brought up could not be set down again: {line}")),
            Err(_) => Err("NICs that were brought up are not down again: their guard does not answer".into()),
        }
    }
}

/// Runs a guard: waits for the end of `input`, then sets NICs down.
pub fn main(names: &[String], mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    // A signal to the terminal's or the agent's group must not end it. In a session of its own already, it
    // needs no other.
    let _ = nix::unistd::setsid();
    writeln!(output, "{READY}")?;
    output.flush()?;
    io::copy(&mut input, &mut io::sink())?;
    let failures: Vec<String> = names.iter().filter_map(|name| set_down(name).err()).collect();
    let said = if failures.is_empty() { DONE.to_owned() } else { failures.join("; ") };
    // The agent may be dead, and then nobody reads this.
    let _ = writeln!(output, "{said}").and_then(|()| output.flush());
    Ok(())
}

fn set_down(name: &str) -> Result<(), String> {
    let mut netlink = Netlink::open().map_err(|error| error.to_string())?;
    let link = netlink.link(name).map_err(|error| error.to_string())?;
    netlink.set_up(link.index, false).map_err(|error| format!("{name}: {error}"))
}
