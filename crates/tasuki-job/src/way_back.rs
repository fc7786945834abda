//! The way back: daemons of a launcher connect to the machine on which it runs, by TCP, on ports that the
//! kernel chooses. Where that is closed launchers wait without a word, so every host is asked to try it
//! before.

use crate::random;
use nix::sys::socket::{Shutdown, shutdown};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::AsRawFd,
    thread,
    time::Duration,
};

/// How long a host tries to connect. A connection on a network of one's own takes less than a millisecond,
/// and one whose first packet was lost is tried again after a second.
const LIMIT: Duration = Duration::from_secs(3);
/// Most addresses that a question has, and its longest text in bytes.
const ADDRESSES_MAX: usize = 8;
const QUESTION_MAX: u64 = 1024;
/// Length of what proves that it is this process that answers, in bytes.
const TOKEN: usize = 32;

/// Whether a host can connect to an address of the machine on which a launcher is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayBack {
    /// The address.
    pub address: Ipv4Addr,
    /// Why it cannot; `None`: it can.
    pub problem: Option<String>,
}

/// Where hosts connect to show that they can. It is open as long as this value lives.
pub(crate) struct Door {
    listener: TcpListener,
    question: String,
}

impl Door {
    /// Opens it at addresses of this machine.
    pub fn open(addresses: &BTreeSet<Ipv4Addr>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let token = random::digits().map_err(io::Error::other)?;
        let words = addresses.iter().take(ADDRESSES_MAX).map(|address| format!(" {address}"));
        let question = format!("{token} {}{}\n", listener.local_addr()?.port(), words.collect::<String>());
        let own = listener.try_clone()?;
        thread::spawn(move || {
            loop {
                match own.accept() {
                    // As many bytes as fit into any buffer: nobody keeps this thread waiting.
                    Ok((mut host, _)) => drop(host.write_all(token.as_bytes())),
                    Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                    // The listener is shut.
                    Err(_) => break,
                }
            }
        });
        Ok(Self { listener, question })
    }

    /// What a host is told to be able to try.
    pub fn question(&self) -> &str {
        &self.question
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // On Linux this wakes the thread that waits for connections.
        let _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both);
    }
}

/// Tries what a question asks for; nothing if there is none.
pub(crate) fn answer(question: impl Read) -> Vec<WayBack> {
    let mut text = String::new();
    if question.take(QUESTION_MAX).read_to_string(&mut text).is_err() {
        return Vec::new();
    }
    let mut words = text.split_whitespace();
    let Some(token) = words.next().filter(|token| token.len() == TOKEN) else { return Vec::new() };
    let Some(port) = words.next().and_then(|word| word.parse::<u16>().ok()) else { return Vec::new() };
    let addresses: Vec<Ipv4Addr> = words.filter_map(|word| word.parse().ok()).take(ADDRESSES_MAX).collect();
    thread::scope(|scope| {
        let tried = addresses.iter().map(|address| {
            let at = SocketAddr::from((*address, port));
            (*address, scope.spawn(move || connect(at, token)))
        });
        let tried: Vec<_> = tried.collect();
        let told = tried.into_iter().map(|(address, tried)| {
            let problem = tried.join().unwrap_or_else(|_| Some("it was not tried".into()));
            WayBack { address, problem }
        });
        told.collect()
    })
}

/// Why this host cannot connect to the process that waits there; `None`: it can.
fn connect(at: SocketAddr, token: &str) -> Option<String> {
    let heard = TcpStream::connect_timeout(&at, LIMIT).and_then(|mut stream| {
        stream.set_read_timeout(Some(LIMIT))?;
        let mut heard = [0; TOKEN];
        stream.read_exact(&mut heard).map(|()| heard)
    });
    match heard {
        Ok(heard) if heard == token.as_bytes() => None,
        Ok(_) => Some("another machine answers there".into()),
        Err(error) => Some(match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                format!("nothing comes back within {} s", LIMIT.as_secs())
            }
            ErrorKind::ConnectionRefused => "the connection is refused".into(),
            _ => error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(question: &str) -> Vec<WayBack> {
        answer(question.as_bytes())
    }

    #[test]
    fn an_open_door_is_found_and_one_that_was_shut_is_not() {
        let here = Ipv4Addr::LOCALHOST;
        let door = Door::open(&[here].into()).unwrap();
        let question = door.question().to_owned();
        assert_eq!(ways(&question), [WayBack { address: here, problem: None }]);
        // What answers there is not the process that was asked for.
        let other = question.replacen(|_: char| true, "x", 1);
        let problem = ways(&other).remove(0).problem.unwrap();
        assert!(problem.contains("another machine"), "{problem}");
        drop(door);
        let problem = ways(&question).remove(0).problem.unwrap();
        assert!(problem.contains("refused"), "{problem}");
    }

    #[test]
    fn what_is_no_question_is_not_tried() {
        let token = "0".repeat(TOKEN);
        let no_port = format!("{token} 70000 127.0.0.1");
        for text in ["", "\n", "x 1 127.0.0.1", token.as_str(), no_port.as_str()] {
            assert_eq!(ways(text), [], "{text:?}");
        }
        assert_eq!(ways(&format!("{token} 9 n1 ::1")), [], "addresses alone");
    }
}
