//! The peer that serves.

use super::{
    channel::{Channel, TcpChannel, UdpChannel},
    client::seconds,
    control::{Answer, Control, Counted, Request, Work, wait_readable},
    drain,
    error::RawError,
    frames::{FrameChannel, FrameLink},
    pingpong::{self, Echoed},
    protocol::Protocol,
    sockets::{self, CALL_LIMIT},
    specification::Serve,
    spin::{cpu_seconds, pin},
    stream,
    throughput::{self, Segments, Window},
};
use nix::sys::socket::{getsockopt, sockopt::TcpMaxSeg};
use std::{
    io,
    net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket},
};

const NO_CONNECTIONS: &str = "streams go over connections of their own";
/// Number of frames in the ring of a throughput test: 100 ms of 1 Gbit/s at MTU 1500.
const COUNTING_SLOTS: u32 = 8192;
/// Number of frames in the ring of a ping-pong: a message of 1 MiB at MTU 1500.
pub(super) const ECHO_SLOTS: u32 = 1024;

/// Serves one measuring peer until that closes its control connection. Gives up if no peer connects, or no
/// request comes, within `silence_limit_s`.
pub fn serve(options: &Serve) -> Result<(), RawError> {
    let limit = seconds(options.silence_limit_s, "silence_limit_s")?;
    if let Some(cpu) = options.cpu {
        pin(cpu).map_err(|error| RawError::Value(format!("processor {cpu}: {error}")))?;
    }
    let mut control = Control::accept(options.listen, limit)?;
    let interface = options.interface.as_deref();
    while let Some(request) = control.receive_or_end(limit)? {
        let Request::Prepare { protocol, data, session, mac, work } = request else {
            // This is the stop of a test that broke off on this side, which has been answered already.
            continue;
        };
        let test = Prepared { protocol, data, session, mac, work, interface, cpu: options.cpu };
        let answer = match test.run(&mut control) {
            Ok(answer) => answer,
            // Without a control connection the other peer cannot be told.
            Err(error @ RawError::Control { .. }) => return Err(error),
            Err(error) => Answer::Refused { reason: error.to_string() },
        };
        control.send(&answer)?;
    }
    Ok(())
}

/// A test that the other peer has asked for.
struct Prepared<'a> {
    protocol: Protocol,
    data: Ipv4Addr,
    session: u32,
    mac: Option<[u8; 6]>,
    work: Work,
    interface: Option<&'a str>,
    cpu: Option<usize>,
}

impl Prepared<'_> {
    /// Opens the data side, tells the other peer that it is ready, and takes part in the test.
    fn run(&self, control: &mut Control) -> Result<Answer, RawError> {
        if let Work::Stream(test) = &self.work {
            return stream::serve(test, self.data, self.interface, self.cpu, control);
        }
        match self.protocol {
            Protocol::Tcp | Protocol::TcpSpin => self.run_tcp(control),
            Protocol::Udp => self.run_udp(control),
            Protocol::PacketRing => self.run_frames(control),
        }
    }

    fn run_tcp(&self, control: &mut Control) -> Result<Answer, RawError> {
        let error = |doing| sockets::error(self.protocol, doing);
        let listener = sockets::listen_tcp(self.data, self.interface).map_err(error("listen"))?;
        let port = listener.local_addr().map_err(error("listen"))?.port();
        control.send(&Answer::Ready { port, mac: None })?;
        let stream = accept(&listener, control).map_err(error("accept"))?;
        match self.work {
            Work::Echo { bytes } => {
                let spin = self.protocol == Protocol::TcpSpin;
                let mut channel = TcpChannel::new(stream, spin).map_err(error("prepare"))?;
                self.echo(&mut channel, bytes, control)
            }
            Work::Drain { .. } => Err(RawError::Value(drain::NO_PACKETS.into())),
            Work::Stream(_) => Err(RawError::Value(NO_CONNECTIONS.into())),
            Work::Count { warm_up_s } => {
                let (window, cpu) = (self.window(warm_up_s)?, cpu_seconds());
                let segments = segments(&stream).map_err(error("ask for the segment size"))?;
                let counted = throughput::count_tcp(stream, &segments, window).map_err(error("receive"))?;
                Ok(done(cpu, counted))
            }
        }
    }

    fn run_udp(&self, control: &mut Control) -> Result<Answer, RawError> {
        let error = |doing| sockets::error(self.protocol, doing);
        let socket = sockets::bind_udp(self.data, self.interface).map_err(error("bind"))?;
        let port = socket.local_addr().map_err(error("bind"))?.port();
        match self.work {
            Work::Drain { buffer_bytes, .. } => {
                resize(&socket, usize::try_from(buffer_bytes).unwrap_or(usize::MAX))
            }
            // The buffer is as large as the system allows, so that a receiver that is off the processor for a
            // while loses nothing.
            _ => resize(&socket, 16 << 20),
        }
        control.send(&Answer::Ready { port, mac: None })?;
        match self.work {
            Work::Echo { bytes } => {
                let mut channel = UdpChannel::new(socket, false).map_err(error("prepare"))?;
                self.echo(&mut channel, bytes, control)
            }
            Work::Drain { slow, .. } => {
                let mut source = drain::Source::socket(&socket).map_err(error("prepare"))?;
                drain::serve(self.protocol, &mut source, slow, control)
            }
            Work::Count { warm_up_s } => {
                let (window, cpu) = (self.window(warm_up_s)?, cpu_seconds());
                let counted = throughput::count_udp(&socket, window, control).map_err(error("receive"))?;
                Ok(done(cpu, counted))
            }
            Work::Stream(_) => Err(RawError::Value(NO_CONNECTIONS.into())),
        }
    }

    fn run_frames(&self, control: &mut Control) -> Result<Answer, RawError> {
        let interface = self.interface.ok_or(RawError::NoInterface)?;
        let slots = match self.work {
            Work::Echo { .. } => ECHO_SLOTS,
            Work::Count { .. } => COUNTING_SLOTS,
            Work::Drain { buffer_bytes, .. } => drain::slots(interface, buffer_bytes)?,
            Work::Stream(_) => return Err(RawError::Value(NO_CONNECTIONS.into())),
        };
        let mut link = FrameLink::open(interface, slots, self.session)?;
        link.set_peer(self.mac.ok_or(RawError::NoInterface)?);
        control.send(&Answer::Ready { port: 0, mac: Some(link.mac()) })?;
        match self.work {
            Work::Echo { bytes } => self.echo(&mut FrameChannel::new(link), bytes, control),
            Work::Drain { slow, .. } => {
                drain::serve(self.protocol, &mut drain::Source::Ring(&mut link), slow, control)
            }
            Work::Count { warm_up_s } => {
                let (window, cpu) = (self.window(warm_up_s)?, cpu_seconds());
                let counted = throughput::receive_frames(&mut link, window, control);
                Ok(done(cpu, counted.map_err(sockets::error(self.protocol, "receive"))?))
            }
            Work::Stream(_) => Err(RawError::Value(NO_CONNECTIONS.into())),
        }
    }

    fn echo(&self, channel: &mut dyn Channel, bytes: u32, control: &Control) -> Result<Answer, RawError> {
        let Echoed { cpu_s, messages } = pingpong::echo(self.protocol, channel, bytes, control)?;
        Ok(Answer::Echoed { cpu_s, messages })
    }

    fn window(&self, warm_up_s: f64) -> Result<Window, RawError> {
        seconds(warm_up_s, "warm_up_s").map(Window::new)
    }
}

fn done(cpu_before: f64, counted: Counted) -> Answer {
    Answer::Counted { cpu_s: cpu_seconds() - cpu_before, counted }
}

/// Accepts the measuring peer's data connection. Gives up if that peer sends a request or closes the control
/// connection instead.
pub(super) fn accept(listener: &TcpListener, control: &Control) -> io::Result<TcpStream> {
    const POLLS: u32 = 100;
    for _ in 0..POLLS {
        if wait_readable(listener, CALL_LIMIT / POLLS)? {
            let (stream, _) = listener.accept()?;
            return Ok(stream);
        }
        if control.is_pending() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// The payload of this connection's full segments, and their options. The kernel's segment size does not
/// include the timestamps, and whether it uses them is known only for the whole network namespace.
fn segments(stream: &TcpStream) -> io::Result<Segments> {
    let payload = getsockopt(stream, TcpMaxSeg)?;
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_timestamps").unwrap_or_default();
    let options = if setting.trim() == "0" { 0 } else { crate::ethernet::TCP_TIMESTAMPS_BYTES };
    Ok(Segments { payload: payload.into(), options })
}

/// Sets the size of the socket's receive buffer; the kernel doubles it for its own records (socket(7)).
fn resize(socket: &UdpSocket, bytes: usize) {
    use nix::sys::socket::{
        setsockopt,
        sockopt::{RcvBuf, RcvBufForce},
    };
    // The first call obeys the system's limit, the second needs root. A test works without either, so that
    // errors are ignored.
    let _ = setsockopt(socket, RcvBuf, &bytes);
    let _ = setsockopt(socket, RcvBufForce, &bytes);
}
