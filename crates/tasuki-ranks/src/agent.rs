//! The agent of a host: it starts the shepherd of the host's ranks, and passes words on between it and the
//! owner of the job, which talks with this process over its standard input and output.

use crate::{
    OWNER_SILENCE,
    order::{Hello, Order, VERSION},
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener},
    os::fd::AsFd,
    process::ExitCode,
    thread,
    time::Instant,
};
use tasuki_shepherd::{Command, Commands, Event, Inbox, Message, Residence, Shepherd, ShepherdError, sweep};

/// The first port at which rank 0 of a job may be met, which is torchrun's, and how many there are from there
/// on. All are below those that the kernel gives to connections of its own choice.
const PORT: u16 = 29_500;
const PORTS: u16 = 500;
/// Most bytes of the order: arguments and variables of a program, and a few variables of each rank.
const ORDER_MAX: u64 = 256 << 20;

/// The agent's process. Returns its exit code.
pub fn agent_main() -> ExitCode {
    match agent() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn agent() -> Result<(), String> {
    let mut output = io::stdout().lock();
    let hello = Hello { ranks_agent: VERSION.into(), port: free_port() };
    let hello = serde_json::to_string(&hello).map_err(|error| error.to_string())?;
    writeln!(output, "{hello}").and_then(|()| output.flush()).map_err(|error| error.to_string())?;
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let mut input = BufReader::new(File::from(input));
    let Some(order) = order(&mut input)? else { return Ok(()) };
    let spec = order.on_host(std::env::vars_os().collect());
    let own: [OsString; 2] = ["/proc/self/exe".into(), "shepherd".into()];
    let mut shepherd = Shepherd::start(&own, &spec).map_err(|error| error.to_string())?;
    let commands = shepherd.commands();
    thread::spawn(move || obey(input, &commands));
    let mut residence = Residence::Processes;
    loop {
        match shepherd.next(None) {
            Ok(Some(event)) => {
                if let Event::Started(state) = &event {
                    residence = state.residence.clone();
                }
                // An owner that is gone takes no words; the shepherd ends the ranks when this process does.
                let told = output.write_all(&event.encode()).and_then(|()| output.flush());
                told.map_err(|error| error.to_string())?;
            }
            Ok(None) => return Ok(()),
            Err(error) => {
                if matches!(error, ShepherdError::Gone) {
                    sweep(&spec.id, &residence).map_err(|left| format!("{error}; {left}"))?;
                }
                return Err(error.to_string());
            }
        }
    }
}

/// The owner's order; `None`: it has none after all.
fn order(input: &mut impl BufRead) -> Result<Option<Order>, String> {
    let mut line = Vec::new();
    input.take(ORDER_MAX).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(|error| format!("an order that is none: {error}"))
}

/// Passes the owner's commands on. When its words end, or none has come for long, all ranks of the host are
/// killed.
fn obey(mut input: BufReader<File>, commands: &Commands) {
    let mut inbox = Inbox::default();
    while is_readable(&input) && pass_on(&mut input, &mut inbox, commands) {}
    // The shepherd may have ended, which it has told then.
    let _ = commands.send(&Command::End { grace_ms: 0 });
}

/// Passes on what can be read now. False: nothing comes any more, or what is no command.
fn pass_on(input: &mut BufReader<File>, inbox: &mut Inbox, commands: &Commands) -> bool {
    let count = match input.fill_buf() {
        Ok([]) | Err(_) => return false,
        Ok(bytes) => {
            inbox.extend(bytes);
            bytes.len()
        }
    };
    input.consume(count);
    loop {
        match inbox.take::<Command>() {
            Ok(Some(command)) => {
                // A shepherd that has ended needs no command.
                let _ = commands.send(&command);
            }
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Whether something can be read, or has ended, before the owner has been silent for too long.
fn is_readable(input: &BufReader<File>) -> bool {
    if !input.buffer().is_empty() {
        return true;
    }
    let end = Instant::now() + OWNER_SILENCE;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let limit = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(input.get_ref().as_fd(), PollFlags::POLLIN)], limit) {
            Err(Errno::EINTR) => {}
            result => return result.is_ok_and(|ready| ready > 0),
        }
    }
}

/// A port at which nothing listens on this host. Which one is tried first differs from job to job, as a job
/// takes its port some time after it was found to be free.
fn free_port() -> u16 {
    let first = (std::process::id() % u32::from(PORTS)) as u16;
    let ports = (0..PORTS).map(|number| PORT + (first + number) % PORTS);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok();
    ports.into_iter().find(is_free).unwrap_or(PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_passed_over() {
        let port = free_port();
        assert!((PORT..PORT + PORTS).contains(&port));
        // Another process of this machine may have taken it meanwhile, which is as good.
        let Ok(_taken) = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)) else { return };
        assert_ne!(free_port(), port);
    }

    #[test]
    fn an_owner_without_an_order_is_none_and_an_odd_order_an_error() {
        assert_eq!(order(&mut &b""[..]), Ok(None));
        assert!(order(&mut &b"{}\n"[..]).is_err_and(|why| why.contains("order")));
    }
}
