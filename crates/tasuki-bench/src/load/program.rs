//! The program under test.

use super::{
    Done, Load, LoadError, Phase, STREAM_PORT, Timer, Work,
    partner::{Ask, BYTES, Question},
    setup::work,
    while_doing,
};
use crate::raw::{cpu_seconds, pin};
use nix::sys::socket::{setsockopt, sockopt::RcvBuf};
use std::{
    fs,
    io::ErrorKind,
    net::{Ipv4Addr, UdpSocket},
    time::Duration,
};
use tasuki_random::Random;
use tasuki_sys::{
    clock::monotonic_ns,
    napi::{self, Deferral},
};

/// A question without an answer is asked again after this long.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(20);
/// After this many questions without an answer in a row there is no partner: 10 s, long enough for one that
/// is starting.
const TRIES: u32 = 500;

/// The program under test.
struct Program<'a> {
    work: &'a Work,
    socket: UdpSocket,
    random: Random,
    sequence: u32,
    asked_again: u64,
}

/// Runs all phases, and returns the result of each.
pub(super) fn run(work: &Work) -> Result<Vec<Done>, LoadError> {
    pin(work.cpu).map_err(while_doing("stay on a processor"))?;
    // The stream goes to a socket that is never read, so that the kernel has its work but wakes no program.
    let sink = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, STREAM_PORT)).map_err(while_doing("bind"))?;
    setsockopt(&sink, RcvBuf, &1).map_err(|errno| while_doing("bound a socket's buffer")(errno.into()))?;
    let mut program = Program::new(work)?;
    let done = work.phases.iter().map(|phase| program.phase(phase)).collect();
    // The partner ends with this, so that a lost answer would not come again: none is waited for.
    let _ = program.tell(&Question { kind: Ask::End, rate: 0.0, sequence: 0 });
    drop(sink);
    done
}

impl<'a> Program<'a> {
    fn new(work: &'a Work) -> Result<Self, LoadError> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(while_doing("bind"))?;
        socket.connect(work.partner).map_err(while_doing("connect"))?;
        socket.set_read_timeout(Some(ASK_AGAIN_AFTER)).map_err(while_doing("bound a wait"))?;
        Ok(Self { work, socket, random: Random::new(work.seed), sequence: 0, asked_again: 0 })
    }

    fn phase(&mut self, phase: &Phase) -> Result<Done, LoadError> {
        if let Some(us) = phase.delay_us {
            self.set_delay(us)?;
        }
        self.ask(Ask::Rate, phase.load.stream_rate)?;
        self.turns(&phase.load, phase.warm_s)?;
        let (begun, cpu, packets, again) = (monotonic_ns(), cpu_seconds(), self.packets(), self.asked_again);
        let turns = self.turns(&phase.load, phase.seconds)?;
        Ok(Done {
            turns,
            packets: self.packets().saturating_sub(packets),
            asked_again: self.asked_again - again,
            program_s: cpu_seconds() - cpu,
            window_ns: [begun, monotonic_ns()],
        })
    }

    fn set_delay(&mut self, us: u32) -> Result<(), LoadError> {
        if self.work.timer == Timer::Nic {
            return self.ask(Ask::Delay, us.into());
        }
        let delay = Deferral { flush_ns: u64::from(us) * 1000, defer_irqs: u32::from(us > 0) };
        napi::set_deferral(&self.work.interface, delay).map_err(while_doing("set the delay"))
    }

    /// Makes turns for `seconds`; returns their number.
    fn turns(&mut self, load: &Load, seconds: f64) -> Result<u64, LoadError> {
        let end = monotonic_ns() + (seconds * 1e9) as u64;
        let mut turns = 0;
        while monotonic_ns() < end {
            let compute_us = self.random.exponential(load.compute_ns) * 1e-3;
            work((compute_us * self.work.steps_per_us) as u64);
            if load.waits {
                self.ask(Ask::Answer, 0.0)?;
            }
            turns += 1;
        }
        Ok(turns)
    }

    /// Number of packets that the NIC has received so far.
    fn packets(&self) -> u64 {
        let path = format!("/sys/class/net/{}/statistics/rx_packets", self.work.interface);
        fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn tell(&self, question: &Question) -> Result<(), LoadError> {
        match self.socket.send(&question.bytes()) {
            // A refused connection means that the partner does not run yet.
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => Err(while_doing("ask")(error)),
            _ => Ok(()),
        }
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, kind: Ask, rate: f64) -> Result<(), LoadError> {
        self.sequence = self.sequence.wrapping_add(1);
        let question = Question { kind, rate, sequence: self.sequence };
        for number in 0..TRIES {
            self.asked_again += u64::from(number > 0);
            self.tell(&question)?;
            if self.is_answered()? {
                return Ok(());
            }
        }
        Err(LoadError::Silent { tries: TRIES })
    }

    fn is_answered(&self) -> Result<bool, LoadError> {
        let mut bytes = [0; BYTES];
        loop {
            match self.socket.recv(&mut bytes) {
                // An older answer is the second one to a question that was asked twice.
                Ok(_) if Question::parse(&bytes).is_some_and(|it| it.sequence == self.sequence) => {
                    return Ok(true);
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    std::thread::sleep(ASK_AGAIN_AFTER);
                    return Ok(false);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(false);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(while_doing("wait for an answer")(error)),
            }
        }
    }
}
