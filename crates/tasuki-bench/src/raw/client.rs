//! The peer that measures.

use super::{
    channel::{Channel, TcpChannel, UdpChannel},
    control::{Answer, Control, Request, Work},
    error::RawError,
    frames::{FrameChannel, FrameLink},
    outcome::{Failure, Outcome, PingPong, Throughput},
    pingpong::{Pinged, Pinger},
    protocol::Protocol,
    server::ECHO_SLOTS,
    sockets,
    specification::{Measure, Test},
    spin::{cpu_seconds, pin},
    throughput::{self, Pacer},
};
use crate::ethernet::Framing;
use nix::sys::socket::{getsockopt, sockopt::IpMtu};
use std::{
    hash::{BuildHasher, RandomState},
    net::{SocketAddrV4, TcpStream, UdpSocket},
    time::Duration,
};

/// Longest wait for an answer that the other peer can give at once.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(15);
/// The largest number of seconds that a specification may give.
const SECONDS_MAX: Duration = Duration::from_secs(3600);
/// The smallest message of a ping-pong, bytes: it has room for the sequence number.
pub(super) const MESSAGE_BYTES_MIN: u32 = 4;
/// The largest message of a ping-pong, bytes: the ring has room for it.
pub(super) const MESSAGE_BYTES_MAX: u32 = 1 << 20;
/// The largest message of a ping-pong over UDP, bytes: one datagram over IPv4.
pub(super) const UDP_MESSAGE_BYTES_MAX: u32 = 65_507;

/// Makes all tests with a peer that serves. A failed test is listed in the outcome and does not end the
/// others. An error means that the peers cannot work together at all.
pub fn measure(options: &Measure) -> Result<Outcome, RawError> {
    let limit = seconds(options.connect_s, "connect_s")?;
    if let Some(cpu) = options.cpu {
        pin(cpu).map_err(|error| RawError::Value(format!("processor {cpu}: {error}")))?;
    }
    let mut control = Control::connect(options.server, limit)?;
    let mut outcome = Outcome::default();
    for test in &options.tests {
        match test {
            Test::PingPong { protocol, bytes, seconds, samples } => {
                for &bytes in bytes {
                    let test =
                        PingPongTest { protocol: *protocol, bytes, seconds: *seconds, samples: *samples };
                    let words = format!("ping-pong, {bytes} bytes");
                    let result = test.run(options, &mut control);
                    keep(result, *protocol, words, &mut outcome.ping_pongs, &mut outcome.failures)?;
                }
            }
            Test::Drain(test) => {
                let result = test.check().and_then(|()| test.run(options, &mut control));
                keep(result, test.protocol, "drain".into(), &mut outcome.drains, &mut outcome.failures)?;
            }
            Test::Stream(test) => {
                let result = test.run(options, &mut control);
                let words = format!("stream, {} bytes", test.bytes);
                keep(result, Protocol::Tcp, words, &mut outcome.streams, &mut outcome.failures)?;
            }
            Test::Throughput { protocol, seconds, warm_up_s, pace_bits_per_second } => {
                let test = ThroughputTest {
                    protocol: *protocol,
                    seconds: *seconds,
                    warm_up_s: *warm_up_s,
                    pace: *pace_bits_per_second,
                };
                let result = test.run(options, &mut control);
                keep(
                    result,
                    *protocol,
                    "throughput".into(),
                    &mut outcome.throughputs,
                    &mut outcome.failures,
                )?;
            }
        }
    }
    Ok(outcome)
}

/// Adds a result or a failure to its list; returns an error if the control connection has failed.
fn keep<T>(
    result: Result<T, RawError>,
    protocol: Protocol,
    test: String,
    results: &mut Vec<T>,
    failures: &mut Vec<Failure>,
) -> Result<(), RawError> {
    match result {
        Ok(result) => results.push(result),
        Err(error @ RawError::Control { .. }) => return Err(error),
        Err(error) => failures.push(Failure { protocol, test, reason: error.to_string() }),
    }
    Ok(())
}

/// Checks a number of seconds of a specification; `name` is that of its field.
pub(super) fn seconds(value: f64, name: &str) -> Result<Duration, RawError> {
    let valid = (0.0..=SECONDS_MAX.as_secs_f64()).contains(&value);
    valid.then(|| Duration::from_secs_f64(value)).ok_or_else(|| {
        RawError::Value(format!("{name} must be 0 to {} seconds, not {value}", SECONDS_MAX.as_secs()))
    })
}

/// The data side of a test that both peers are ready for.
pub(super) enum Data {
    Tcp(TcpStream),
    Udp(UdpSocket),
    Frames(FrameLink),
}

/// Agrees on a test and opens the data side.
pub(super) fn prepare(
    options: &Measure,
    control: &mut Control,
    protocol: Protocol,
    work: Work,
) -> Result<Data, RawError> {
    // The number tells the frames of this test from those of earlier tests and of other pairs on the same
    // switch.
    let session = RandomState::new().hash_one(std::process::id()) as u32;
    let interface = options.interface.as_deref();
    let link = match protocol {
        Protocol::PacketRing => {
            Some(FrameLink::open(interface.ok_or(RawError::NoInterface)?, ECHO_SLOTS, session)?)
        }
        _ => None,
    };
    let mac = link.as_ref().map(FrameLink::mac);
    control.send(&Request::Prepare { protocol, data: options.data, session, mac, work })?;
    let (port, mac) = match control.receive(ANSWER_LIMIT)? {
        Answer::Ready { port, mac } => (port, mac),
        other => return Err(unexpected(other)),
    };
    let to = SocketAddrV4::new(options.data, port);
    let opened = match (link, mac) {
        (Some(mut link), Some(mac)) => {
            link.set_peer(mac);
            Ok(Data::Frames(link))
        }
        (Some(_), None) => Err(RawError::NoInterface),
        (None, _) if protocol == Protocol::Udp => {
            sockets::connect_udp(to, interface).map(Data::Udp).map_err(sockets::error(protocol, "connect"))
        }
        (None, _) => {
            sockets::connect_tcp(to, interface).map(Data::Tcp).map_err(sockets::error(protocol, "connect"))
        }
    };
    // If this failed, the other peer waits for data that will not come, so that its test is ended too.
    opened.inspect_err(|_| drop(finish(control)))
}

/// Ends the other peer's part of a test.
pub(super) fn finish(control: &mut Control) -> Result<Answer, RawError> {
    control.send(&Request::Stop)?;
    control.receive(ANSWER_LIMIT)
}

/// The error for an answer that does not belong to the request.
pub(super) fn unexpected(answer: Answer) -> RawError {
    match answer {
        Answer::Refused { reason } => RawError::Refused(reason),
        other => RawError::Refused(format!("an answer to something else: {other:?}")),
    }
}

struct PingPongTest {
    protocol: Protocol,
    bytes: u32,
    seconds: f64,
    samples: u32,
}

impl PingPongTest {
    fn run(&self, options: &Measure, control: &mut Control) -> Result<PingPong, RawError> {
        let Self { protocol, bytes, .. } = *self;
        self.check()?;
        let data = prepare(options, control, protocol, Work::Echo { bytes })?;
        // The data side is closed before the other peer is told to stop, because this ends the wait of a TCP
        // peer.
        let pinged = self.ping(data);
        let answer = finish(control)?;
        let Pinged { samples, resent, cpu_s, messages } = pinged?;
        let Answer::Echoed { cpu_s: peer_cpu_s, messages: echoed } = answer else {
            return Err(unexpected(answer));
        };
        // The other side does not know which messages were samples, so that its time is shared equally by all
        // messages.
        let cpu_s = cpu_s + peer_cpu_s * messages as f64 / echoed.max(messages) as f64;
        Ok(PingPong { protocol, bytes, samples, resent, cpu_s, moved_bytes: 2 * messages * u64::from(bytes) })
    }

    fn check(&self) -> Result<(), RawError> {
        seconds(self.seconds, "seconds")?;
        let most = if self.protocol == Protocol::Udp { UDP_MESSAGE_BYTES_MAX } else { MESSAGE_BYTES_MAX };
        if !(MESSAGE_BYTES_MIN..=most).contains(&self.bytes) {
            return Err(RawError::Value(format!(
                "{} takes {MESSAGE_BYTES_MIN} to {most} \
                                                bytes",
                self.protocol
            )));
        }
        if !(1..=1000).contains(&self.samples) || self.seconds == 0.0 {
            return Err(RawError::Value("samples must be 1 to 1000 and seconds above 0".into()));
        }
        Ok(())
    }

    fn ping(&self, data: Data) -> Result<Pinged, RawError> {
        let error = |doing| sockets::error(self.protocol, doing);
        let mut channel: Box<dyn Channel> = match data {
            Data::Tcp(stream) => {
                let spin = self.protocol == Protocol::TcpSpin;
                Box::new(TcpChannel::new(stream, spin).map_err(error("prepare"))?)
            }
            Data::Udp(socket) => Box::new(UdpChannel::new(socket, true).map_err(error("prepare"))?),
            Data::Frames(link) => Box::new(FrameChannel::new(link)),
        };
        Pinger::new(self.protocol, channel.as_mut(), self.bytes).measure(self.seconds, self.samples)
    }
}

struct ThroughputTest {
    protocol: Protocol,
    seconds: f64,
    warm_up_s: f64,
    pace: Option<u64>,
}

impl ThroughputTest {
    fn run(&self, options: &Measure, control: &mut Control) -> Result<Throughput, RawError> {
        let duration = seconds(self.seconds, "seconds")? + seconds(self.warm_up_s, "warm_up_s")?;
        if self.pace == Some(0) {
            return Err(RawError::Value("pace_bits_per_second must not be 0".into()));
        }
        let work = Work::Count { warm_up_s: self.warm_up_s };
        let data = prepare(options, control, self.protocol, work)?;
        let cpu = cpu_seconds();
        let sent = self.send(data, duration);
        let cpu_s = cpu_seconds() - cpu;
        let answer = finish(control)?;
        let sent = sent?;
        let Answer::Counted { cpu_s: peer_cpu_s, counted } = answer else { return Err(unexpected(answer)) };
        let line = options.line_bits_per_second;
        Ok(throughput::result(self.protocol, &counted, sent, cpu_s + peer_cpu_s, line))
    }

    fn send(&self, data: Data, duration: Duration) -> Result<u64, RawError> {
        let error = |doing| sockets::error(self.protocol, doing);
        let pacer = Pacer::new(self.pace);
        match data {
            Data::Tcp(stream) => throughput::send_tcp(stream, duration).map(|()| 0).map_err(error("send")),
            Data::Udp(socket) => {
                let payload = udp_payload(&socket).map_err(|errno| error("ask for the MTU")(errno.into()))?;
                sockets::grow_send_buffer(&socket, throughput::SEND_BUFFER_BYTES);
                throughput::send_udp(&socket, payload, duration, pacer).map_err(error("send"))
            }
            Data::Frames(mut link) => {
                link.grow_send_buffer(throughput::SEND_BUFFER_BYTES);
                throughput::send_frames(&mut link, duration, pacer).map_err(error("send"))
            }
        }
    }
}

/// The payload of a datagram that fills a frame on this path, bytes.
pub(super) fn udp_payload(socket: &UdpSocket) -> nix::Result<usize> {
    let mtu = getsockopt(socket, IpMtu)?;
    let payload = Framing::udp(mtu.try_into().unwrap_or(0)).map_or(1, |framing| framing.payload_bytes);
    Ok(payload.min(UDP_MESSAGE_BYTES_MAX.into()) as usize)
}
