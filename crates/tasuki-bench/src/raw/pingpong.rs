//! Both sides of the ping-pong.

use super::{
    channel::Channel,
    control::Control,
    error::RawError,
    protocol::Protocol,
    sockets::{self, CALL_LIMIT},
    spin::{Spin, cpu_seconds},
};
use std::{
    io,
    time::{Duration, Instant},
};

/// A message that has not come back after this long is sent again. The time is well above the delays of a
/// busy machine.
const RESEND_AFTER: Duration = Duration::from_millis(20);
/// A path that loses this many messages in a row is taken as cut.
const TRIES: u32 = 100;
/// The answering side gives up if nothing arrives for this long.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// The smallest number of samples that says anything of a spread. With this many, the test ends after twice
/// its time.
const SAMPLES_MIN: usize = 3;

/// The result of the asking side.
pub(super) struct Pinged {
    pub samples: Vec<f64>,
    pub resent: u64,
    /// Processor time of this side, seconds.
    pub cpu_s: f64,
    /// Number of messages in each direction.
    pub messages: u64,
}

/// The result of the answering side.
pub(super) struct Echoed {
    pub cpu_s: f64,
    pub messages: u64,
}

/// The asking side.
pub(super) struct Pinger<'a> {
    protocol: Protocol,
    channel: &'a mut dyn Channel,
    out: Vec<u8>,
    back: Vec<u8>,
    sequence: u32,
    resent: u64,
}

impl<'a> Pinger<'a> {
    pub fn new(protocol: Protocol, channel: &'a mut dyn Channel, bytes: u32) -> Self {
        // The period of 251 is a prime number, so that a part in the wrong place differs from what belongs
        // there.
        let out: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
        let back = vec![0; out.len()];
        Self { protocol, channel, out, back, sequence: 0, resent: 0 }
    }

    /// Verifies one message, finds how many fill a batch, takes the samples, verifies the last one.
    pub fn measure(mut self, seconds: f64, samples: u32) -> Result<Pinged, RawError> {
        self.round_trip()?;
        self.verify()?;
        let share = seconds / f64::from(samples);
        let count = self.calibrate(share)?;
        self.resent = 0;
        let (cpu, start) = (cpu_seconds(), Instant::now());
        let mut taken: Vec<f64> = Vec::new();
        while taken.len() < samples as usize {
            let enough = taken.len() >= SAMPLES_MIN && start.elapsed().as_secs_f64() > 2.0 * seconds;
            if enough {
                break;
            }
            taken.push(self.batch(count)? / f64::from(count) / 2.0);
        }
        let cpu_s = cpu_seconds() - cpu;
        self.verify()?;
        let messages = u64::from(count) * taken.len() as u64;
        Ok(Pinged { samples: taken, resent: self.resent, cpu_s, messages })
    }

    /// Finds the number of messages that take `share` seconds; this also warms the path up.
    fn calibrate(&mut self, share: f64) -> Result<u32, RawError> {
        let mut count = 1u32;
        loop {
            let took = self.batch(count)?;
            if took >= share || count >= 1 << 24 {
                return Ok((share * f64::from(count) / took.max(1e-9)).clamp(1.0, 1e8) as u32);
            }
            count *= 4;
        }
    }

    fn batch(&mut self, count: u32) -> Result<f64, RawError> {
        let start = Instant::now();
        for _ in 0..count {
            self.round_trip()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn round_trip(&mut self) -> Result<(), RawError> {
        self.sequence = self.sequence.wrapping_add(1);
        self.out[..4].copy_from_slice(&self.sequence.to_be_bytes());
        self.send()?;
        let (mut spin, mut tries) = (Spin::default(), 1);
        loop {
            let arrived = self.channel.receive(&mut self.back);
            // An answer with an older number is the second one to a message that was sent twice.
            if arrived.map_err(sockets::error(self.protocol, "receive"))? && self.back[..4] == self.out[..4] {
                return Ok(());
            }
            let Some(waited) = spin.idle() else { continue };
            if self.channel.is_lossy() && waited > RESEND_AFTER {
                if tries == TRIES {
                    return Err(self.silent(tries));
                }
                tries += 1;
                self.resent += 1;
                spin = Spin::default();
                self.send()?;
            } else if waited > CALL_LIMIT {
                return Err(self.silent(tries));
            }
        }
    }

    fn send(&mut self) -> Result<(), RawError> {
        self.channel.send(&self.out).map_err(sockets::error(self.protocol, "send"))
    }

    fn silent(&self, tries: u32) -> RawError {
        RawError::Silent { protocol: self.protocol, bytes: self.bytes(), tries }
    }

    fn bytes(&self) -> u32 {
        self.out.len() as u32
    }

    fn verify(&self) -> Result<(), RawError> {
        match self.out.iter().zip(&self.back).position(|(sent, back)| sent != back) {
            Some(at) => Err(RawError::Damaged { protocol: self.protocol, bytes: self.bytes(), at }),
            None => Ok(()),
        }
    }
}

/// Runs the answering side: sends every message back until the other peer says stop or is gone.
pub(super) fn echo(
    protocol: Protocol,
    channel: &mut dyn Channel,
    bytes: u32,
    control: &Control,
) -> Result<Echoed, RawError> {
    let mut message = vec![0; bytes as usize];
    let (mut spin, cpu, mut messages) = (Spin::default(), cpu_seconds(), 0);
    let done = |messages| Echoed { cpu_s: cpu_seconds() - cpu, messages };
    loop {
        let step = channel.receive(&mut message).and_then(|whole| {
            if whole {
                channel.send(&message)?;
            }
            Ok(whole)
        });
        match step {
            Ok(true) => (spin, messages) = (Spin::default(), messages + 1),
            Ok(false) => {
                let Some(waited) = spin.idle() else { continue };
                if control.is_pending() || waited > IDLE_LIMIT {
                    return Ok(done(messages));
                }
            }
            Err(error) if has_ended(&error) => return Ok(done(messages)),
            Err(error) => return Err(sockets::error(protocol, "echo")(error)),
        }
    }
}

/// Whether an error says that the other peer has closed its end, which on TCP is how it says stop.
fn has_ended(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that brings messages back, but loses every n-th one and can double or damage all.
    struct Faulty {
        waiting: Vec<Vec<u8>>,
        sent: u32,
        lose_every: u32,
        double: bool,
        damage: bool,
    }

    impl Channel for Faulty {
        fn send(&mut self, message: &[u8]) -> io::Result<()> {
            self.sent += 1;
            if self.sent.is_multiple_of(self.lose_every) {
                return Ok(());
            }
            let mut message = message.to_vec();
            if self.damage {
                message[7] ^= 1;
            }
            for _ in 0..1 + u32::from(self.double) {
                self.waiting.insert(0, message.clone());
            }
            Ok(())
        }

        fn receive(&mut self, message: &mut [u8]) -> io::Result<bool> {
            let Some(oldest) = self.waiting.pop() else { return Ok(false) };
            message.copy_from_slice(&oldest);
            Ok(true)
        }

        fn is_lossy(&self) -> bool {
            true
        }
    }

    fn measure(mut channel: Faulty) -> Result<Pinged, RawError> {
        Pinger::new(Protocol::Udp, &mut channel, 16).measure(1e-6, 5)
    }

    #[test]
    fn losses_are_made_good_and_counted() {
        let lossy = Faulty { waiting: Vec::new(), sent: 0, lose_every: 3, double: true, damage: false };
        let Ok(result) = measure(lossy) else { panic!("gave up") };
        // A lost message costs one resend; which ones fall into the samples depends on calibration.
        assert!(result.samples.len() >= SAMPLES_MIN);
        assert!(result.samples.iter().all(|sample| sample.is_finite() && *sample > 0.0));
        assert!(result.messages >= result.samples.len() as u64);
    }

    #[test]
    fn damage_is_found_and_a_cut_path_is_given_up() {
        let fault =
            |lose_every, damage| Faulty { waiting: Vec::new(), sent: 0, lose_every, double: false, damage };
        assert!(matches!(measure(fault(1000, true)), Err(RawError::Damaged { at: 7, bytes: 16, .. })));
        assert!(matches!(measure(fault(1, false)), Err(RawError::Silent { tries: TRIES, .. })));
    }
}
