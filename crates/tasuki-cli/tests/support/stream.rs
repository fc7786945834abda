//! A TCP stream whose bytes are counted and summed at both ends.

use super::{MARK, TestLab};
use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
};

const STREAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/stream.py");

/// A running stream between two hosts of a lab.
pub struct Stream {
    server: Child,
    output: BufReader<std::process::ChildStdout>,
    client: Child,
}

impl Stream {
    /// Starts a stream from n1 to n2's identity address.
    pub fn begin(lab: &TestLab, port: u16) -> Self {
        Self::between(lab, ["n1", "n2"], "10.77.0.2", port)
    }

    /// Starts a stream from one host to an address of another.
    pub fn between(lab: &TestLab, [from, to]: [&str; 2], address: &str, port: u16) -> Self {
        let port = port.to_string();
        let start = |host: &str, role: &str, input: Stdio| {
            let mut command = lab.exec(host, &["python3", STREAM, role, address, &port]);
            command.env(MARK, &lab.name).stdin(input).stdout(Stdio::piped()).spawn().expect("starts")
        };
        let mut server = start(to, "serve", Stdio::null());
        let mut output = BufReader::new(server.stdout.take().expect("piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("reads");
        assert_eq!(line.trim(), "listening");
        let client = start(from, "send", Stdio::piped());
        Self { server, output, client }
    }

    /// Ends the stream, of which every byte must have arrived. Returns the longest pause in ms.
    pub fn end(mut self) -> u64 {
        drop(self.client.stdin.take());
        let (mut sent, mut received) = (String::new(), String::new());
        self.client.stdout.take().expect("piped").read_to_string(&mut sent).expect("reads");
        self.output.read_to_string(&mut received).expect("reads");
        assert!(self.client.wait().expect("ends").success() && self.server.wait().expect("ends").success());
        let received: Vec<u64> =
            received.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let sent: Vec<u64> = sent.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        assert_eq!(sent[..2], received[..2]);
        assert!(sent[0] > 1_000_000);
        received[2]
    }
}
