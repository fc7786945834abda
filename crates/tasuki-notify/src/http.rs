//! One POST of HTTP/1.1 (RFC 9112) with a limit for all of it, and of HTTPS by the host's curl.

use crate::mail;
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::{
    fs::File,
    io::{Read, Write},
    net::{TcpStream, ToSocketAddrs},
    os::fd::AsRawFd,
    path::Path,
    time::{Duration, Instant},
};

/// Time for one try, from the connection to the first line of the answer.
const LIMIT: Duration = Duration::from_secs(10);
/// Addresses of a server's name that are tried.
const ADDRESSES_MAX: usize = 4;
/// curl's exit code for a certificate of an authority that this host does not know (curl(1)).
const UNTRUSTED: i32 = 60;
/// Most bytes of an answer's first line.
const LINE_MAX: usize = 4096;

/// Why a try failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Another try may succeed.
    Passing(String),
    /// Another try would fail as well.
    Lasting(String),
}

/// Sends a JSON text to a server; it must answer 2xx.
///
/// # Errors
/// A connection that fails, and answers 408, 429 and 5xx, may be passing.
pub fn post(host: &str, port: u16, path: &str, body: &str) -> Result<(), Failure> {
    let until = Instant::now() + LIMIT;
    let mut stream = connect(host, port, until)?;
    let name = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {name}:{port}\r\nUser-Agent: tasuki\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let message = [head.as_bytes(), body.as_bytes()].concat();
    write_all(&mut stream, &message, until)?;
    judge(&first_line(&mut stream, until)?)
}

fn passing(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Passing(format!("{what}: {error}"))
}

/// What is left until the limit.
fn left(until: Instant) -> Result<Duration, Failure> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(Failure::Passing(format!("no answer within {} s", LIMIT.as_secs()))),
        false => Ok(left),
    }
}

fn connect(host: &str, port: u16, until: Instant) -> Result<TcpStream, Failure> {
    let addresses = (host, port).to_socket_addrs().map_err(|error| passing(host, &error))?;
    let mut last = Failure::Passing(format!("{host} has no address"));
    for address in addresses.take(ADDRESSES_MAX) {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = passing(&format!("cannot connect to {address}"), &error),
        }
    }
    Err(last)
}

fn write_all(stream: &mut TcpStream, mut bytes: &[u8], until: Instant) -> Result<(), Failure> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?)).map_err(|error| passing("sending", &error))?;
        let sent = stream.write(bytes).map_err(|error| passing("sending", &error))?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

fn first_line(stream: &mut TcpStream, until: Instant) -> Result<String, Failure> {
    let mut line = Vec::new();
    let mut piece = [0; 512];
    while !line.contains(&b'\n') && line.len() < LINE_MAX {
        stream.set_read_timeout(Some(left(until)?)).map_err(|error| passing("reading", &error))?;
        match stream.read(&mut piece).map_err(|error| passing("no answer", &error))? {
            0 => break,
            got => line.extend(&piece[..got]),
        }
    }
    let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
    Ok(String::from_utf8_lossy(&line[..end]).trim_end().chars().take(100).collect())
}

/// What a status line says.
fn judge(line: &str) -> Result<(), Failure> {
    let code = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
    judge_code(code, &format!("the server answered {line:?}"))
}

/// What a status code says (RFC 9110, section 15).
fn judge_code(code: Option<u16>, said: &str) -> Result<(), Failure> {
    match code {
        Some(200..=299) => Ok(()),
        Some(300..=399) => Err(Failure::Lasting(format!("{said}: name where it leads to"))),
        Some(408 | 429 | 500..=599) => Err(Failure::Passing(said.to_owned())),
        _ => Err(Failure::Lasting(said.to_owned())),
    }
}

/// Sends a JSON text to a server by the host's curl, which knows the authorities that this host trusts.
///
/// # Errors
/// If there is no curl, or as [`post`].
pub fn post_https(url: &str, body: &str) -> Result<(), Failure> {
    post_by_curl(url, body, &[])
}

/// As [`post_https`], with more words for curl.
fn post_by_curl(url: &str, body: &str, more: &[&str]) -> Result<(), Failure> {
    let none = || Failure::Lasting("https needs curl on the host that keeps the queue".into());
    post_by(&mail::program("curl").ok_or_else(none)?, url, body, more)
}

/// As [`post_by_curl`], by this program.
fn post_by(curl: &Path, url: &str, body: &str, more: &[&str]) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| passing("cannot prepare the record", error);
    // The program inherits this file.
    let mut file = File::from(memfd_create(c"record", MFdFlags::empty()).map_err(|errno| failed(&errno))?);
    file.write_all(body.as_bytes()).map_err(|error| failed(&error))?;
    let data = format!("@/proc/self/fd/{}", file.as_raw_fd());
    let words = ["--silent", "--show-error", "--proto", "=https", "--max-time", "10", "--globoff"];
    let how = ["--output", "/dev/null", "--header", "Content-Type: application/json", "--data-binary", &data];
    // The URL may be a secret, and all can read command lines. No address holds a quotation mark.
    let config = format!("url = \"{url}\"\n");
    let all = [&words[..], more, &how, &["--write-out", "%{http_code}", "--config", "-"]].concat();
    let output = mail::run_to_end(curl, &all, &config).map_err(Failure::Passing)?;
    if !output.is_success() {
        // What follows the first line is about curl's options.
        let said = output.stderr.lines().next().unwrap_or_default();
        let why = format!("{}: {}: {said}", curl.display(), output.reason());
        let lasts = output.code == Some(UNTRUSTED);
        return Err(if lasts { Failure::Lasting(why) } else { Failure::Passing(why) });
    }
    let code = output.stdout.trim();
    judge_code(code.parse().ok(), &format!("the server answered {code:?}"))
}

#[cfg(test)]
mod https_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::TcpListener, thread};
    use tasuki_testkit::ports::own_port;

    /// A server that answers one connection with this text, and gives back what it was sent.
    fn server(answer: &'static str) -> (u16, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut said = Vec::new();
            let mut piece = [0; 1024];
            while !said.ends_with(b"}") {
                let got = stream.read(&mut piece).unwrap();
                said.extend(&piece[..got]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(said).unwrap()
        };
        (port, thread::spawn(serve))
    }

    #[test]
    fn a_server_gets_the_record_and_is_believed() {
        let (port, served) = server("HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(post("127.0.0.1", port, "/hook?a=b", "{\"id\":7}"), Ok(()));
        let said = served.join().unwrap();
        assert!(said.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{said}");
        assert!(said.contains(&format!("Host: 127.0.0.1:{port}\r\n")), "{said}");
        assert!(said.contains("Content-Length: 8\r\n") && said.ends_with("\r\n\r\n{\"id\":7}"), "{said}");
    }

    #[test]
    fn refusals_and_silence_are_told_apart() {
        for (answer, passes) in [
            ("HTTP/1.1 503 Busy\r\n\r\n", true),
            ("HTTP/1.0 404 Not Found\r\n\r\n", false),
            ("HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", false),
            ("SSH-2.0-OpenSSH\r\n", false),
            ("", false),
        ] {
            let (port, served) = server(answer);
            let failure = post("127.0.0.1", port, "/", "{}").unwrap_err();
            assert_eq!(matches!(failure, Failure::Passing(_)), passes, "{answer}: {failure:?}");
            served.join().unwrap();
        }
        let failure = post("127.0.0.1", own_port(), "/", "{}").unwrap_err();
        assert!(matches!(&failure, Failure::Passing(why) if why.contains("connect")), "{failure:?}");
    }
}
