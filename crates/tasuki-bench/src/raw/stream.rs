//! Messages of one length over TCP connections, as fast as they go, with the processor time, the segments
//! sent again and the segments out of order of both sides. `netperf -t TCP_STREAM -m BYTES` measures the same
//! throughput, and figures 2 to 4 of the NIC distribution paper show it.
//!
//! Both sides count for the same time after a warm-up, each by its own clock. The sender goes on until the
//! receiver is certainly done.

use super::{
    client::{ANSWER_LIMIT, finish, seconds, unexpected},
    control::{Answer, Control, Request, Work},
    error::RawError,
    protocol::Protocol,
    server::accept,
    snapshot::Snapshot,
    sockets::{self, CALL_LIMIT, is_nothing},
    specification::Measure,
    streamed::{Side, StreamTest, Streamed},
};
use nix::sys::socket::{Backlog, SockaddrIn, bind, listen};
use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream},
    os::fd::AsRawFd,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The largest number of connections of a test.
const STREAMS_MAX: u32 = 1024;
/// The longest message of a stream, bytes.
const STREAM_MESSAGE_BYTES_MAX: u32 = 16 << 20;
/// Time for which the sender goes on after the receiver should be done counting.
const TAIL: Duration = Duration::from_millis(300);
/// The largest number of bytes that a receiver takes by one call.
const RECEIVE_BYTES: usize = 64 * 1024;

impl StreamTest {
    fn check(&self) -> Result<(), RawError> {
        seconds(self.warm_up_s, "warm_up_s")?;
        let bad = |text: String| Err(RawError::Value(text));
        match self {
            _ if seconds(self.seconds, "seconds")?.is_zero() => bad("seconds must be above 0".into()),
            _ if !(1..=STREAMS_MAX).contains(&self.streams) => {
                bad(format!("streams must be 1 to {STREAMS_MAX}"))
            }
            _ if !(1..=STREAM_MESSAGE_BYTES_MAX).contains(&self.bytes) => {
                bad(format!("a message has 1 to {STREAM_MESSAGE_BYTES_MAX} bytes"))
            }
            _ => Ok(()),
        }
    }

    /// Runs the measuring side, which sends.
    pub(super) fn run(&self, options: &Measure, control: &mut Control) -> Result<Streamed, RawError> {
        self.check()?;
        let error = |doing| sockets::error(Protocol::Tcp, doing);
        let (data, work) = (options.data, Work::Stream(*self));
        control.send(&Request::Prepare { protocol: Protocol::Tcp, data, session: 0, mac: None, work })?;
        let port = match control.receive(ANSWER_LIMIT)? {
            Answer::Ready { port, .. } => port,
            other => return Err(unexpected(other)),
        };
        let to = SocketAddrV4::new(data, port);
        let streams: io::Result<Vec<_>> =
            (0..self.streams).map(|_| self.connect(to, options.interface.as_deref())).collect();
        let sent = streams.and_then(|streams| self.send(&streams, options.cpu));
        // The streams are closed by now, which ends the other peer's part too.
        let answer = finish(control)?;
        let sender = sent.map_err(error("send"))?;
        let Answer::Streamed { received_bytes, receiver } = answer else { return Err(unexpected(answer)) };
        Ok(Streamed { test: *self, received_bytes, sender, receiver })
    }

    fn connect(&self, to: SocketAddrV4, interface: Option<&str>) -> io::Result<TcpStream> {
        if !self.mptcp {
            return sockets::connect_tcp(to, interface);
        }
        let socket = tasuki_sys::tcp::mptcp_socket()?;
        sockets::bound_calls(&socket, CALL_LIMIT)?;
        sockets::connect_within_limit(&socket, to)?;
        Ok(TcpStream::from(socket))
    }

    fn send(&self, streams: &[TcpStream], core: Option<usize>) -> io::Result<Side> {
        let (warm_up, counted) =
            (Duration::from_secs_f64(self.warm_up_s), Duration::from_secs_f64(self.seconds));
        let message = vec![0x5A; self.bytes as usize];
        let end = Instant::now() + warm_up + counted + TAIL;
        thread::scope(|scope| {
            let senders: Vec<_> =
                streams.iter().map(|stream| scope.spawn(|| send_until(stream, &message, end))).collect();
            thread::sleep(warm_up);
            let before = Snapshot::take(core, streams, self.mptcp);
            thread::sleep(counted);
            let side =
                before.and_then(|before| Ok(Snapshot::take(core, streams, self.mptcp)?.since(&before)));
            for sender in senders {
                sender.join().map_err(|_| io::Error::other("a sender panicked"))??;
            }
            side
        })
    }
}

/// Sends one message after another until `end`, then waits until the other side has received all.
fn send_until(mut stream: &TcpStream, message: &[u8], end: Instant) -> io::Result<()> {
    while Instant::now() < end {
        stream.write_all(message)?;
    }
    stream.shutdown(Shutdown::Write)?;
    match stream.read(&mut [0]) {
        Err(error) if !is_nothing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Runs the serving side, which receives.
pub(super) fn serve(
    test: &StreamTest,
    data: Ipv4Addr,
    interface: Option<&str>,
    core: Option<usize>,
    control: &mut Control,
) -> Result<Answer, RawError> {
    let error = |doing| sockets::error(Protocol::Tcp, doing);
    test.check()?;
    let listener = if test.mptcp { listen_mptcp() } else { sockets::listen_tcp(data, interface) };
    let listener = listener.map_err(error("listen"))?;
    let port = listener.local_addr().map_err(error("listen"))?.port();
    control.send(&Answer::Ready { port, mac: None })?;
    let streams: io::Result<Vec<_>> =
        (0..test.streams).map(|_| accept_blocking(&listener, control)).collect();
    let streams = streams.map_err(error("accept"))?;
    let (received_bytes, receiver) = receive(test, &streams, core).map_err(error("receive"))?;
    Ok(Answer::Streamed { received_bytes, receiver })
}

/// Listens on all addresses, because the further paths of a Multipath TCP connection lead to other addresses
/// than the first.
fn listen_mptcp() -> io::Result<TcpListener> {
    let socket = tasuki_sys::tcp::mptcp_socket()?;
    bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)))?;
    listen(&socket, Backlog::new(128)?)?;
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn accept_blocking(listener: &TcpListener, control: &Control) -> io::Result<TcpStream> {
    let stream = accept(listener, control)?;
    stream.set_nonblocking(false)?;
    sockets::bound_calls(&stream, CALL_LIMIT)?;
    Ok(stream)
}

fn receive(test: &StreamTest, streams: &[TcpStream], core: Option<usize>) -> io::Result<(Vec<u64>, Side)> {
    let totals: Vec<AtomicU64> = streams.iter().map(|_| AtomicU64::new(0)).collect();
    let so_far = || totals.iter().map(|total| total.load(Ordering::Relaxed)).collect::<Vec<_>>();
    thread::scope(|scope| {
        let receivers: Vec<_> = streams
            .iter()
            .zip(&totals)
            .map(|(stream, total)| scope.spawn(|| receive_all(stream, total)))
            .collect();
        thread::sleep(Duration::from_secs_f64(test.warm_up_s));
        let (before, bytes_before) = (Snapshot::take(core, streams, test.mptcp), so_far());
        thread::sleep(Duration::from_secs_f64(test.seconds));
        let after = Snapshot::take(core, streams, test.mptcp);
        let received = so_far().into_iter().zip(bytes_before).map(|(now, then)| now - then).collect();
        for receiver in receivers {
            receiver.join().map_err(|_| io::Error::other("a receiver panicked"))??;
        }
        Ok((received, after?.since(&before?)))
    })
}

/// Takes everything up to the end of the stream, and counts it in `total`.
fn receive_all(mut stream: &TcpStream, total: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; RECEIVE_BYTES];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                total.fetch_add(count as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(received_bytes: &[u64]) -> Streamed {
        Streamed {
            test: StreamTest { mptcp: false, streams: 1, bytes: 1024, seconds: 1.0, warm_up_s: 0.0 },
            received_bytes: received_bytes.to_vec(),
            sender: Side { data_out: 200, resent: 5, ..Side::default() },
            receiver: Side { seconds: 2.0, data_in: 100, out_of_order: 25, ..Side::default() },
        }
    }

    // Jain, Chiu, Hawe: DEC-TR-301 (1984): if k of n users have the same and the others nothing,
    // the index is k/n.
    #[test]
    fn figures_follow_from_the_counters() {
        let one_of_four = streamed(&[800, 0, 0, 0]);
        assert_eq!((one_of_four.bytes_per_second(), one_of_four.fairness()), (400.0, 0.25));
        assert_eq!(streamed(&[7, 7, 7]).fairness(), 1.0);
        assert_eq!((one_of_four.out_of_order(), one_of_four.resent()), (0.25, 0.025));
        assert_eq!(streamed(&[]).fairness(), 0.0);
    }
}
