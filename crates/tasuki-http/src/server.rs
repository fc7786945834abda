//! The server: connections, time limits, and what is written to them.

use crate::{Body, Names, Reply, Request, Subscription, feed::Next, request::HEAD_BYTES_MAX};
use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// So many connections are answered at the same time; further ones are closed at once.
const CONNECTIONS_MAX: usize = 64;
/// How long a client may take to ask, to read the answer, and to read each event.
const CLIENT_LIMIT: Duration = Duration::from_secs(5);
/// Without an event for so long a comment is sent, which finds out whether the client is there.
const QUIET: Duration = Duration::from_secs(5);
/// How long nothing is accepted after the process or the machine had no file or memory left for a connection.
const SHORTAGE: Duration = Duration::from_millis(100);

/// Answers all that connect and ask by one of the names, until the process ends.
///
/// # Errors
/// If no connection can be accepted any more.
pub fn serve(
    listener: &TcpListener,
    names: &Names,
    reply: impl Fn(&Request) -> Reply + Sync,
) -> io::Result<()> {
    let active = AtomicUsize::new(0);
    thread::scope(|scope| {
        loop {
            let connection = match listener.accept() {
                Ok((connection, _)) => connection,
                // The client has gone already (accept(2)).
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_shortage(&error) => {
                    thread::sleep(SHORTAGE);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if active.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                continue;
            }
            active.fetch_add(1, Ordering::Relaxed);
            let answered = thread::Builder::new().spawn_scoped(scope, || {
                // What goes wrong on a connection is the client's affair.
                let _ = talk(connection, names, &reply);
                active.fetch_sub(1, Ordering::Relaxed);
            });
            if answered.is_err() {
                active.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })
}

/// Whether an error of accept(2) passes.
fn is_shortage(error: &io::Error) -> bool {
    let passing = [libc::ENOMEM, libc::ENFILE, libc::EMFILE, libc::ENOBUFS];
    error.raw_os_error().is_some_and(|number| passing.contains(&number))
}

fn talk(mut connection: TcpStream, names: &Names, reply: &impl Fn(&Request) -> Reply) -> io::Result<()> {
    let to = connection.local_addr()?.ip();
    let head = read_head(&mut connection, Instant::now() + CLIENT_LIMIT)?;
    let (is_head, reply) = match Request::parse(&head) {
        Some(request) => {
            let refused = names.refuse(&request, to);
            (request.method == "HEAD", refused.unwrap_or_else(|| reply(&request)))
        }
        None => (false, Reply::refusal(400, "this is no request of HTTP/1.1")),
    };
    let mut answer = reply.head();
    if let (Body::Text(text), false) = (&reply.body, is_head) {
        answer += text;
    }
    write_all(&mut connection, answer.as_bytes(), Instant::now() + CLIENT_LIMIT)?;
    match reply.body {
        Body::Events(events) if !is_head => send_events(&mut connection, events),
        Body::Events(_) | Body::Text(_) => Ok(()),
    }
}

/// Sends events until there are no more, or the client does not take one in time.
fn send_events(connection: &mut TcpStream, mut events: Subscription) -> io::Result<()> {
    loop {
        let text = match events.next(QUIET) {
            Next::Event(text) => format!("data: {text}\n\n"),
            Next::Nothing => ":\n\n".to_owned(),
            Next::End => return Ok(()),
        };
        write_all(connection, text.as_bytes(), Instant::now() + CLIENT_LIMIT)?;
    }
}

/// What a client says up to the empty line.
fn read_head(connection: &mut TcpStream, end: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX {
            // It is answered as something that cannot be understood.
            return Ok(Vec::new());
        }
        connection.set_read_timeout(Some(left(end)?))?;
        match connection.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend(&part[..count]),
        }
    }
    Ok(head)
}

fn write_all(connection: &mut TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        connection.set_write_timeout(Some(left(end)?))?;
        let count = connection.write(bytes)?;
        bytes = &bytes[count..];
    }
    Ok(())
}

/// Time until `end`, which is above zero.
fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests;
