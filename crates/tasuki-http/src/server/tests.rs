//! A server on any port of this machine, and clients of all kinds.

use super::*;
use crate::Feed;
use std::{
    net::{Shutdown, SocketAddr},
    sync::Arc,
};
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

/// A server that lives as long as the process.
fn served(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || serve(&listener, &Names::default(), reply));
    address
}

fn said(address: SocketAddr, request: &[u8]) -> TcpStream {
    let mut connection = TcpStream::connect(address).expect("connects");
    // The server may have answered and gone before it has read all.
    let _ = connection.write_all(request);
    connection
}

/// What is answered to a request.
fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut answer = Vec::new();
    let _ = said(address, request).read_to_end(&mut answer);
    String::from_utf8(answer).expect("UTF-8")
}

#[test]
fn silent_clients_keep_nobody_waiting() {
    let address = served(|request| Reply::refusal(200, request.path));
    let silent: Vec<_> =
        (0..CONNECTIONS_MAX / 2).map(|_| TcpStream::connect(address).expect("connects")).collect();
    let answer = ask(address, b"GET /here HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n/here\n"), "{answer}");
    let head = ask(address, b"HEAD /here HTTP/1.1\r\nHost: [::1]\r\n\r\n");
    assert!(head.contains("Content-Length: 6\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let long = ask(address, &[b"GET /".as_slice(), &[b'a'; HEAD_BYTES_MAX]].concat());
    assert!(long.starts_with("HTTP/1.1 400"), "{long}");
    drop(silent);
}

#[test]
fn pages_of_other_sites_whose_name_leads_here_are_not_answered() {
    let address = served(|request| Reply::refusal(200, request.path));
    let status = |version: &str, headers: &str| {
        let answer = ask(address, format!("GET /here HTTP/{version}\r\n{headers}\r\n").as_bytes());
        answer.lines().next().unwrap_or_default().to_owned()
    };
    let own = [format!("Host: {address}\r\n"), format!("Host: localhost:{}\r\n", address.port())];
    assert!(own.iter().all(|headers| status("1.1", headers) == "HTTP/1.1 200 OK"));
    assert_eq!(status("1.0", ""), "HTTP/1.1 200 OK");
    for foreign in ["Host: evil.example\r\n", "Host: evil.example:80\r\nOrigin: http://localhost\r\n"] {
        assert_eq!(status("1.1", foreign), "HTTP/1.1 421 Misdirected Request");
        assert_eq!(status("1.0", foreign), "HTTP/1.1 421 Misdirected Request");
    }
    for none in ["", "Host: localhost\r\nHost: evil.example\r\n", "Host: local host\r\n"] {
        assert_eq!(status("1.1", none), "HTTP/1.1 400 Bad Request", "{none:?}");
    }
}

/// Waits until `condition` holds; the limit keeps a defect from hanging the test.
fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..6000 {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("waited 30 s for: {what}");
}

#[test]
fn events_are_sent_as_they_come_and_clients_that_do_not_read_are_dropped() {
    let feed = Arc::new(Feed::new(3));
    let shared = Arc::clone(&feed);
    let address = served(move |_| match shared.subscribe() {
        Some(events) => Reply::events(events),
        None => Reply::refusal(503, "too many"),
    });
    let request = b"GET /events HTTP/1.1\r\nHost: [::1]\r\n\r\n";
    let mut reader = said(address, request);
    let gone = said(address, request);
    let deaf = said(address, request);
    until("three clients", || feed.subscriptions() == 3);
    assert!(ask(address, request).starts_with("HTTP/1.1 503"), "three are the most");
    feed.publish("{\"one\":1}");
    let mut got = Vec::new();
    while !got.ends_with(b"data: {\"one\":1}\n\n") {
        let mut part = [0; 512];
        let count = reader.read(&mut part).expect("reads");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&got));
        got.extend(&part[..count]);
    }
    let head = String::from_utf8_lossy(&got);
    assert!(
        head.contains("Content-Type: text/event-stream\r\n") && !head.contains("Content-Length"),
        "{head}"
    );
    drop(gone);
    let _ = reader.shutdown(Shutdown::Both);
    drop(reader);
    // Events fill the socket of the client that does not read; it is given up, and so are those that left.
    let large: Arc<str> = "x".repeat(1 << 20).into();
    until("all clients to be gone", || {
        feed.publish(Arc::clone(&large));
        feed.subscriptions() == 0
    });
    drop(deaf);
}

/// Heads of requests, partly right, that a hostile client may send.
fn hostile(random: &mut Random) -> Vec<u8> {
    const PARTS: &[&[u8]] = &[
        b"GET ",
        b"HEAD ",
        b"POST ",
        b"/",
        b"/../../etc/passwd",
        b"/%2e%2e%2f",
        b"?",
        b"a=b&",
        b" HTTP/1.1",
        b" HTTP/9.9",
        b"\r\n",
        b"\n",
        b"Host: ",
        b"Host: a\r\nHost: b",
        b"Content-Length: 99999999999",
        b"Transfer-Encoding: chunked",
        b"\0",
        b"\xff\xfe",
        b": ",
        b"Cookie: ",
        b"\r\n\r\n",
        b"\x1b[2J",
    ];
    let mut head = Vec::new();
    for _ in 0..random.below(40) {
        match random.below(10) {
            0 => head.extend(vec![random.next_u64() as u8; random.magnitude(3000) as usize]),
            1 => head.extend((0..random.below(30)).map(|_| random.next_u64() as u8)),
            _ => head.extend(random.pick(PARTS)),
        }
    }
    head
}

#[test]
fn whatever_is_sent_is_answered_or_closed_and_the_server_goes_on() {
    let address = served(|request| Reply::refusal(200, request.path));
    let replay = Replay { variable: "TASUKI_TEST_HTTP_SEED", command: "cargo test --release -p tasuki-http" };
    replay.each(300, |seed| {
        let head = hostile(&mut Random::new(seed));
        let mut connection = said(address, &head);
        let _ = connection.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        let is_answer = text.is_empty()
            || ["200", "400", "421"].iter().any(|status| text.starts_with(&format!("HTTP/1.1 {status} ")));
        assert!(is_answer && !text.contains("root:"), "{text}");
        assert!(ask(address, b"GET /on HTTP/1.1\r\nHost: [::1]\r\n\r\n").ends_with("/on\n"), "it goes on");
    });
}
