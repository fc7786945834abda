//! Measuring pairs of hosts by their identity addresses: UDP echo and TCP sink.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    thread,
    time::{Duration, Instant},
};

/// How long an echo may take.
const ECHO_LIMIT: Duration = Duration::from_millis(250);
/// How many echoes in a row may be missing before the rest is given up.
const MISSING_MAX: u32 = 3;
/// How long making a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_millis(1500);
const CHUNK: usize = 64 * 1024;

/// The servers of an agent, which end with its process.
pub struct Servers {
    udp: u16,
    tcp: u16,
    random: TcpListener,
}

impl Servers {
    pub fn start() -> io::Result<Self> {
        let any = (Ipv4Addr::UNSPECIFIED, 0);
        let echo = UdpSocket::bind(any)?;
        let sink = TcpListener::bind(any)?;
        let random = TcpListener::bind(any)?;
        let (udp, tcp) = (echo.local_addr()?.port(), sink.local_addr()?.port());
        thread::spawn(move || {
            let mut buffer = [0; 64];
            loop {
                // An error for one datagram (its host has gone, for instance) says nothing about the next.
                if let Ok((length, from)) = echo.recv_from(&mut buffer) {
                    let _ = echo.send_to(&buffer[..length], from);
                }
            }
        });
        thread::spawn(move || {
            for stream in sink.incoming().flatten() {
                thread::spawn(move || swallow(stream));
            }
        });
        Ok(Self { udp, tcp, random })
    }

    /// Ports of echo, sink and random messages.
    pub fn ports(&self) -> (u16, u16, u16) {
        let random = self.random.local_addr().map_or(0, |address| address.port());
        (self.udp, self.tcp, random)
    }

    /// The socket on which random messages arrive.
    pub fn random(&self) -> &TcpListener {
        &self.random
    }
}

/// Reads a stream to its end, and answers how many bytes there were.
fn swallow(mut stream: TcpStream) {
    let mut buffer = vec![0; CHUNK];
    let mut total = 0_u64;
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        total += length as u64;
    }
    let _ = stream.write_all(&total.to_le_bytes());
}

/// Round-trip times in microseconds, ascending.
pub fn latency(to: Ipv4Addr, port: u16, count: u32) -> Vec<f64> {
    let echo = || -> io::Result<Vec<f64>> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((to, port))?;
        socket.set_read_timeout(Some(ECHO_LIMIT))?;
        let (mut times, mut missing) = (Vec::new(), 0);
        for number in 0..count {
            let sent = Instant::now();
            match ask(&socket, number) {
                Ok(()) => {
                    times.push(sent.elapsed().as_secs_f64() * 1e6);
                    missing = 0;
                }
                Err(_) => missing += 1,
            }
            if missing >= MISSING_MAX {
                break;
            }
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    };
    echo().unwrap_or_default()
}

/// Sends one echo and waits for its answer; late answers to earlier echoes are skipped.
fn ask(socket: &UdpSocket, number: u32) -> io::Result<()> {
    socket.send(&number.to_le_bytes())?;
    let mut buffer = [0; 64];
    for _ in 0..16 {
        let length = socket.recv(&mut buffer)?;
        if buffer[..length] == number.to_le_bytes() {
            return Ok(());
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// Rate of a stream in bit/s; 0 if it cannot be made.
pub fn throughput(to: Ipv4Addr, port: u16, bytes: u64, ms: u64) -> f64 {
    let stream = || -> io::Result<f64> {
        let mut stream = TcpStream::connect_timeout(&SocketAddr::from((to, port)), CONNECT_LIMIT)?;
        stream.set_write_timeout(Some(CONNECT_LIMIT))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let chunk = vec![0x5a; CHUNK];
        let begun = Instant::now();
        let mut left = bytes;
        while left > 0 && begun.elapsed() < Duration::from_millis(ms) {
            let length = left.min(CHUNK as u64) as usize;
            stream.write_all(&chunk[..length])?;
            left -= length as u64;
        }
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut total = [0; 8];
        stream.read_exact(&mut total)?;
        Ok(u64::from_le_bytes(total) as f64 * 8.0 / begun.elapsed().as_secs_f64().max(1e-6))
    };
    stream().unwrap_or(0.0)
}
