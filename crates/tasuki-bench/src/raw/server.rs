//! The peer that answers.

use super::{
    Protocol, RawError, Serve,
    channel::{Channel, TcpChannel, UdpChannel},
    client::seconds,
    control::{Answer, Control, Counted, Request, Work, wait_readable},
    drain,
    frames::{FrameChannel, FrameLink},
    pingpong::{self, Echoed},
    sockets::{self, CALL_LIMIT},
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
/// Frames that fit into the ring of a throughput test: 100 ms of 1 Gbit/s at MTU 1500.
const COUNTING_SLOTS: u32 = 8192;
/// And of a ping-pong: a message of 1 MiB at MTU 1500.
pub(super) const ECHO_SLOTS: u32 = 1024;

/// Answers one measuring peer until it closes its control connection. Gives up when nobody comes, or nothing is
/// said, for `patience_s`.
pub fn serve(options: &Serve) -> Result<(), RawError> {
    let patience = seconds(options.patience_s, "patience_s")?;
    if let Some(cpu) = options.cpu {
        pin(cpu).map_err(|error| RawError::Value(format!("processor {cpu}: {error}")))?;
    }
    let mut control = Control::accept(options.listen, patience)?;
    let interface = options.interface.as_deref();
    while let Some(request) = control.receive_or_end(patience)? {
        let Request::Prepare { protocol, data, session, mac, work } = request else {
            // The stop of a test that broke off here: its answer has been given already.
            continue;
        };
        let test = Prepared { protocol, data, session, mac, work, interface, cpu: options.cpu };
        let answer = match test.run(&mut control) {
            Ok(answer) => answer,
            // Without a control connection there is nobody left to tell.
            Err(error @ RawError::Control { .. }) => return Err(error),
            Err(error) => Answer::Refused { reason: error.to_string() },
        };
        control.send(&answer)?;
    }
    Ok(())
}

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
    /// Opens the data side, says ready, takes part in the test.
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
            // As much as the system lets us: a receiver that is off the processor for a while must not lose.
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

/// The measuring peer's data connection. It gives up if that peer says or closes something instead.
pub(super) fn accept(listener: &TcpListener, control: &Control) -> io::Result<TcpStream> {
    const LOOKS: u32 = 100;
    for _ in 0..LOOKS {
        if wait_readable(listener, CALL_LIMIT / LOOKS)? {
            let (stream, _) = listener.accept()?;
            return Ok(stream);
        }
        if control.is_pending() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Payload of this connection's full segments, and their options: the kernel counts timestamps out of the
/// segment size, and says only for the whole network namespace whether it uses them.
fn segments(stream: &TcpStream) -> io::Result<Segments> {
    let payload = getsockopt(stream, TcpMaxSeg)?;
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_timestamps").unwrap_or_default();
    let options = if setting.trim() == "0" { 0 } else { crate::ethernet::TCP_TIMESTAMPS_BYTES };
    Ok(Segments { payload: payload.into(), options })
}

/// The socket's buffer; the kernel doubles it for its own records (socket(7)).
fn resize(socket: &UdpSocket, bytes: usize) {
    use nix::sys::socket::{
        setsockopt,
        sockopt::{RcvBuf, RcvBufForce},
    };
    // The second is for root, the first obeys the system's limit. Neither is needed.
    let _ = setsockopt(socket, RcvBuf, &bytes);
    let _ = setsockopt(socket, RcvBufForce, &bytes);
}
