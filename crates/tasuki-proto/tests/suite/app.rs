//! A layer above that sends messages and checks every arriving byte. It keeps its own records, independent of
//! the crate under test: which positions of which message have come, which payload was released.

use std::collections::{HashMap, VecDeque};

use tasuki_proto::{ConnId, Outgoing, Payload, Upcalls};
use tasuki_wire::{Control, Frame, Greeting, Mark, Rail, RefuseReason};

/// The byte at offset `at` of message `seq`.
pub fn byte(seq: u64, at: u64) -> u8 {
    (seq.wrapping_mul(167) ^ at.wrapping_mul(31) ^ at >> 8) as u8
}

#[derive(Default)]
struct Incoming {
    len: u64,
    started: bool,
    got: Vec<bool>,
    bytes: u64,
}

#[derive(Default)]
pub struct App {
    /// This side's ends of the rails, for endpoints that say hello; `None` refuses them.
    pub rails: Option<Vec<Rail>>,
    pub start_room: usize,
    queue: VecDeque<(u64, u64)>,
    controls: VecDeque<u64>,
    /// The message that is being sent: seq, len, bytes sent so far.
    current: Option<(u64, u64, u64)>,
    next_seq: u64,
    next_control: u64,
    next_key: u64,
    /// Payload handed to the packet layer and not released: key -> (seq, offset in message, len).
    open: HashMap<u64, (u64, u64, u64)>,
    pub released: u64,
    incoming: HashMap<u64, Incoming>,
    pub messages: u64,
    pub bytes: u64,
    controls_got: HashMap<u64, u64>,
    pub control_count: u64,
    /// A goodbye is to be sent.
    says_bye: bool,
    /// Number of goodbyes received.
    pub byes: u64,
    pub accepted: Vec<ConnId>,
    /// The first error that was found.
    pub fault: Option<String>,
    /// Payload is not compared, for measurements.
    pub careless: bool,
    /// Number of frames received.
    pub frames: u64,
}

impl App {
    pub fn new(rails: &[Rail]) -> App {
        App { rails: Some(rails.to_vec()), start_room: 1000, ..App::default() }
    }

    pub fn send(&mut self, len: u64) {
        self.queue.push_back((self.next_seq, len));
        self.next_seq += 1;
    }

    pub fn send_control(&mut self) {
        self.controls.push_back(self.next_control);
        self.next_control += 1;
    }

    pub fn send_bye(&mut self) {
        self.says_bye = true;
    }

    pub fn sent(&self) -> u64 {
        self.next_seq
    }

    pub fn sent_controls(&self) -> u64 {
        self.next_control
    }

    pub fn unreleased(&self) -> usize {
        self.open.len()
    }

    /// Takes the only waiting message, with its bytes, if it fits into one packet. The packet layer will
    /// neither ask for its bytes nor release them.
    pub fn take_start(&mut self) -> Option<(Outgoing, Vec<u8>)> {
        let alone = self.queue.len() == 1 && self.current.is_none() && self.controls.is_empty();
        let (seq, len) = *self.queue.front()?;
        if !alone || len > self.start_room as u64 {
            return None;
        }
        self.queue.clear();
        let bytes = (0..len).map(|at| byte(seq, at)).collect();
        Some((start(seq, len, Payload { key: u64::MAX, offset: 0, len }), bytes))
    }

    fn wrong(&mut self, what: String) {
        self.fault.get_or_insert(what);
    }

    fn payload(&mut self, seq: u64, offset: u64, len: u64) -> Payload {
        self.next_key += 1;
        self.open.insert(self.next_key, (seq, offset, len));
        Payload { key: self.next_key, offset: 0, len }
    }

    fn take(&mut self, seq: u64, offset: u64, payload: &[u8]) {
        let message = self.incoming.entry(seq).or_default();
        let end = (offset + payload.len() as u64) as usize;
        if !self.careless {
            if message.got.len() < end {
                message.got.resize(end, false);
            }
            let mut fault = None;
            for (at, value) in payload.iter().enumerate() {
                let place = offset + at as u64;
                if std::mem::replace(&mut message.got[place as usize], true) {
                    fault = Some(format!("byte {place} of message {seq} came twice"));
                }
                if *value != byte(seq, place) {
                    fault = Some(format!("byte {place} of message {seq} is another"));
                }
            }
            message.bytes += payload.len() as u64;
            if let Some(fault) = fault {
                return self.wrong(fault);
            }
        } else {
            message.bytes += payload.len() as u64;
        }
        self.bytes += payload.len() as u64;
        let message = self.incoming.entry(seq).or_default();
        if message.started && message.bytes == message.len {
            self.messages += 1;
            message.got = Vec::new();
        } else if message.started && message.bytes > message.len {
            self.wrong(format!("message {seq} is too long"));
        }
    }
}

/// The Start of a message, with all or the first of its bytes.
fn start(seq: u64, len: u64, payload: Payload) -> Outgoing {
    let (tag, data) = (Some(seq * 3), seq.is_multiple_of(2).then_some(seq));
    let (internal, remote_key, charged, ack, early) = (false, None, true, false, len);
    Outgoing::Start { seq, tag, internal, data, remote_key, charged, ack, len, early, payload }
}

impl Upcalls for App {
    fn accept(&mut self, conn: ConnId, _: &Greeting<'_>) -> Result<Vec<Rail>, RefuseReason> {
        let rails = self.rails.clone().ok_or(RefuseReason::Leaving)?;
        self.accepted.push(conn);
        Ok(rails)
    }

    fn next(&mut self, _: ConnId, room: usize) -> Option<Outgoing> {
        if let Some(number) = self.controls.pop_front() {
            return Some(Outgoing::Control(Control::Grant { seq: number, upto: number ^ 77 }));
        }
        if let Some((seq, len, sent)) = self.current {
            let part = (len - sent).min(room as u64);
            self.current = (sent + part < len).then_some((seq, len, sent + part));
            let payload = self.payload(seq, sent, part);
            return Some(Outgoing::Data { seq, offset: sent, early: len, payload });
        }
        if std::mem::take(&mut self.says_bye) {
            let mark = Mark { frames: self.next_seq, bytes: self.next_key };
            return Some(Outgoing::Control(Control::Bye { mark }));
        }
        let (seq, len) = self.queue.pop_front()?;
        let inline = len.min(self.start_room.min(room) as u64);
        self.current = (inline < len).then_some((seq, len, inline));
        let payload = self.payload(seq, 0, inline);
        Some(start(seq, len, payload))
    }

    fn read(&mut self, _: ConnId, payload: &Payload, offset: u64, into: &mut [u8]) {
        let Some(&(seq, start, len)) = self.open.get(&payload.key) else {
            return self.wrong(format!("payload {} is read after its release", payload.key));
        };
        if offset + into.len() as u64 > len {
            return self.wrong(format!("payload {} is read beyond its end", payload.key));
        }
        if self.careless {
            return;
        }
        for (at, place) in into.iter_mut().enumerate() {
            *place = byte(seq, start + offset + at as u64);
        }
    }

    fn released(&mut self, _: ConnId, payload: &Payload) {
        self.released += 1;
        if self.open.remove(&payload.key).is_none() {
            self.wrong(format!("payload {} is released twice", payload.key));
        }
    }

    fn deliver(&mut self, _: ConnId, frame: &Frame<'_>) {
        self.frames += 1;
        match frame {
            Frame::Start(start) => {
                let message = self.incoming.entry(start.seq).or_default();
                if std::mem::replace(&mut message.started, true) {
                    return self.wrong(format!("message {} starts twice", start.seq));
                }
                message.len = start.len;
                let data = (start.seq % 2 == 0).then_some(start.seq);
                if start.tag != Some(start.seq * 3) || start.data != data {
                    return self.wrong(format!("message {} has another envelope", start.seq));
                }
                self.take(start.seq, 0, start.payload);
            }
            Frame::Data(data) => self.take(data.seq, data.offset, data.payload),
            Frame::Control { control: Control::Grant { seq, upto }, .. } => {
                self.control_count += 1;
                let count = self.controls_got.entry(*seq).or_default();
                *count += 1;
                if *count > 1 || *upto != *seq ^ 77 {
                    self.wrong(format!("control {seq} is wrong or came twice"));
                }
            }
            Frame::Control { control: Control::Bye { .. }, .. } => self.byes += 1,
            other => self.wrong(format!("unexpected {other:?}")),
        }
    }
}
