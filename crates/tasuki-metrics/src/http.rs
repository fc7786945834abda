//! A server of a few short texts by HTTP/1.1, each connection of which is answered once and closed.
//!
//! Every connection has a thread of its own and a time limit for all that it says and takes, so that a client
//! that is silent, slow or hostile keeps nobody waiting for longer than that.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// So many connections are answered at the same time; further ones are closed at once.
const CONNECTIONS_MAX: usize = 64;
/// The longest head of a request, bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Headers of a request.
const HEADERS_MAX: usize = 64;
/// How long a client may take to ask, and how long to read the answer.
const CLIENT_LIMIT: Duration = Duration::from_secs(5);

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, as `GET`.
    pub method: &'a str,
    /// The path, without what follows a question mark.
    pub path: &'a str,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Status code (RFC 9110, section 15).
    pub status: u16,
    /// Media type of the body.
    pub media_type: &'static str,
    /// The body.
    pub body: String,
}

impl Reply {
    /// A line of text that says why there is nothing else.
    pub fn refusal(status: u16, why: &str) -> Self {
        Self { status, media_type: "text/plain; charset=utf-8", body: format!("{why}\n") }
    }
}

/// Answers all that connect, until the process ends.
///
/// # Errors
/// If no connection can be accepted any more.
pub fn serve(listener: &TcpListener, reply: impl Fn(Request) -> Reply + Sync) -> io::Result<()> {
    let active = AtomicUsize::new(0);
    thread::scope(|scope| {
        loop {
            let connection = match listener.accept() {
                Ok((connection, _)) => connection,
                // The client has gone already (accept(2)).
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if active.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                continue;
            }
            active.fetch_add(1, Ordering::Relaxed);
            scope.spawn(|| {
                // What goes wrong on a connection is the client's affair.
                let _ = talk(connection, &reply);
                active.fetch_sub(1, Ordering::Relaxed);
            });
        }
    })
}

fn talk(mut connection: TcpStream, reply: &impl Fn(Request) -> Reply) -> io::Result<()> {
    let head = read_head(&mut connection, Instant::now() + CLIENT_LIMIT)?;
    let (is_head, reply) = match understand(&head) {
        Some(request) => (request.method == "HEAD", reply(request)),
        None => (false, Reply::refusal(400, "this is no request of HTTP/1.1")),
    };
    let mut answer = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        reply.status,
        reason(reply.status),
        reply.media_type,
        reply.body.len()
    );
    if !is_head {
        answer.push_str(&reply.body);
    }
    write_all(&mut connection, answer.as_bytes(), Instant::now() + CLIENT_LIMIT)
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

fn understand(head: &[u8]) -> Option<Request<'_>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    request.parse(head).ok().filter(httparse::Status::is_complete)?;
    let path = request.path?.split('?').next()?;
    Some(Request { method: request.method?, path })
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

/// The words of a status code (RFC 9110, section 15).
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_and_anything_else_is_not() {
        let of =
            |head: &'static str| understand(head.as_bytes()).map(|request| (request.method, request.path));
        assert_eq!(of("GET /metrics HTTP/1.1\r\nHost: n1\r\n\r\n"), Some(("GET", "/metrics")));
        assert_eq!(of("HEAD /metrics?name[]=x HTTP/1.0\r\n\r\n"), Some(("HEAD", "/metrics")));
        for head in
            ["", "\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /m HTTP/1.1\r\nHost", "\0\0 \0"]
        {
            assert_eq!(of(head), None, "{head:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(understand(many.as_bytes()), None);
    }

    /// A server on any port of this machine, and what it answers to a request.
    fn ask(address: std::net::SocketAddr, request: &[u8]) -> String {
        let mut connection = TcpStream::connect(address).expect("connects");
        connection.write_all(request).expect("writes");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("an answer");
        answer
    }

    #[test]
    fn silent_clients_keep_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || serve(&listener, |request| Reply::refusal(200, request.path)));
        let silent: Vec<_> =
            (0..CONNECTIONS_MAX / 2).map(|_| TcpStream::connect(address).expect("connects")).collect();
        let answer = ask(address, b"GET /here HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n/here\n"), "{answer}");
        let head = ask(address, b"HEAD /here HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 6\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        let long = ask(address, &[b"GET /".as_slice(), &[b'a'; HEAD_BYTES_MAX]].concat());
        assert!(long.starts_with("HTTP/1.1 400"), "{long}");
        drop(silent);
    }
}
