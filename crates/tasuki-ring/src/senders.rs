//! Senders as they come, fall asleep, and go.
//!
//! A sender rings when it comes, when it goes, and when it pushes while its bell is armed. That it died shows in its lock.

use std::sync::atomic::{Ordering, fence};

use crate::file::Holder;
use crate::layout::*;
use crate::segment::{Look, State};
use crate::{Departure, Segment, Slot, Token};

/// Visits in vain after which a ring is no longer looked at until its sender rings the doorbell. Looking costs about a nanosecond, an
/// armed doorbell costs its sender a contended cache line per message.
pub(crate) const IDLE_VISITS_MAX: u32 = 4096;
/// Departures kept until `reap` reports them.
const DEPARTURES_MAX: usize = 8192;

impl Segment {
    /// Takes up the lanes whose senders have rung.
    pub(crate) fn answer_bells(&mut self) {
        if self.map.word(AT_RUNG).load(Ordering::Relaxed) == 0 {
            return;
        }
        // Before the bells: one that rings after this is found now or at the next look.
        let words = self.map.word(AT_RUNG).swap(0, Ordering::AcqRel);
        let geometry = self.geometry;
        for word in bits(words).filter(|&word| word < geometry.bells()) {
            let rung = self.map.word(geometry.bell(word)).swap(0, Ordering::AcqRel);
            // Pairs with the fence in `Outbox::push`: whoever saw the bell still rung has published what we look at after this.
            fence(Ordering::SeqCst);
            for index in bits(rung).map(|bit| word * 64 + bit).filter(|&index| index < geometry.peers) {
                self.wake(index);
            }
        }
    }

    fn wake(&mut self, index: usize) {
        let slot = self.geometry.slot(index);
        let state = self.map.half(slot + SLOT_STATE).load(Ordering::Acquire);
        let lane = &mut self.lanes[index];
        match lane.state {
            State::Vacant if state == OPEN || state == CLOSED => {
                let mut bytes = [0; 16];
                self.map.copy_out(slot + SLOT_TOKEN, &mut bytes);
                lane.token = Token::from_bytes(bytes);
                self.stats.arrived += 1;
            }
            State::Asleep | State::Active => {}
            State::Shut if state == CLOSED => return self.free(index),
            State::Vacant | State::Shut => return,
        }
        if state == CLOSED {
            lane.leaving = lane.leaving.or(Some(Departure::Closed));
        }
        self.untidy |= lane.leaving.is_some();
        if lane.state != State::Active {
            lane.state = State::Active;
            lane.idle_visits = 0;
            self.active.push(index as u32);
            self.map.half(slot + SLOT_ARMED).store(0, Ordering::Relaxed);
        }
    }

    /// Lets idle lanes sleep and empty ones of departed senders go.
    pub(crate) fn tidy(&mut self) {
        // One that leaves is looked after until its ring is empty.
        self.untidy = false;
        let mut at = 0;
        while at < self.active.len() {
            let index = self.active[at] as usize;
            let lane = self.lanes[index];
            if lane.state != State::Active {
                self.active.swap_remove(at);
            } else if lane.leaving.is_some() && matches!(self.look(index), Look::Empty) {
                self.active.swap_remove(at);
                self.depart(index);
            } else if lane.idle_visits > IDLE_VISITS_MAX && self.sleep(index) {
                self.active.swap_remove(at);
            } else {
                self.untidy |= lane.leaving.is_some();
                at += 1;
            }
        }
    }

    /// Arms the doorbell; false if something has come meanwhile.
    fn sleep(&mut self, index: usize) -> bool {
        let armed = self.geometry.slot(index) + SLOT_ARMED;
        self.map.half(armed).store(1, Ordering::Relaxed);
        // Pairs with the fence in `Outbox::push`: either the sender sees the bell armed, or we see its record.
        fence(Ordering::SeqCst);
        if matches!(self.look(index), Look::Empty) {
            self.lanes[index].state = State::Asleep;
            return true;
        }
        self.map.half(armed).store(0, Ordering::Relaxed);
        self.lanes[index].idle_visits = 0;
        false
    }

    fn slot_of(&self, index: usize) -> Slot {
        Slot { index: index as u32, generation: self.lanes[index].generation }
    }

    fn note(&mut self, index: usize, departure: Departure) {
        if self.departures.len() == DEPARTURES_MAX {
            self.departures.pop_front();
        }
        self.departures.push_back((self.slot_of(index), self.lanes[index].token, departure));
        self.stats.departed += 1;
    }

    /// Nothing more is read from this slot; it is free once its sender has gone.
    pub(crate) fn shut(&mut self, index: usize) {
        self.lanes[index].state = State::Shut;
        self.untidy = true;
        self.stats.corrupt += 1;
        self.note(index, Departure::Corrupt);
        let slot = self.geometry.slot(index);
        // Armed, so that the sender's closing rings.
        self.map.half(slot + SLOT_ARMED).store(1, Ordering::Relaxed);
        self.map.half(slot + SLOT_SHUT).store(1, Ordering::Release);
    }

    /// The sender has gone and its ring is empty.
    fn depart(&mut self, index: usize) {
        if let Some(departure) = self.lanes[index].leaving {
            self.note(index, departure);
        }
        self.free(index);
    }

    /// Makes the slot as it was at the beginning. The ring keeps its memory for the next sender.
    fn free(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        lane.generation = lane.generation.wrapping_add(1);
        lane.state = State::Vacant;
        lane.leaving = None;
        lane.position = 0;
        let slot = self.geometry.slot(index);
        self.map.word(slot + SLOT_TAIL).store(0, Ordering::Relaxed);
        self.map.half(slot + SLOT_SHUT).store(0, Ordering::Relaxed);
        self.map.half(slot + SLOT_ARMED).store(1, Ordering::Relaxed);
        self.map.half(slot + SLOT_STATE).store(FREE, Ordering::Release);
    }

    /// Looks after senders that have closed or died (one system call per sender: call it about once per second) and reports each once,
    /// after all that it sent has been received.
    pub fn reap(&mut self, mut each: impl FnMut(Slot, Token, Departure)) {
        if self.map.is_here() {
            for index in 0..self.lanes.len() {
                self.look_after(index);
            }
            self.tidy();
        }
        while let Some((slot, token, departure)) = self.departures.pop_front() {
            each(slot, token, departure);
        }
    }

    fn look_after(&mut self, index: usize) {
        let at = self.geometry.slot(index) + SLOT_STATE;
        let state = self.map.half(at).load(Ordering::Acquire);
        let lane = &self.lanes[index];
        let known = matches!(lane.state, State::Active | State::Asleep);
        match state {
            FREE if lane.state == State::Vacant => return,
            CLOSED => return self.wake(index),
            // No sender ever goes back from being open.
            state if known && state != OPEN => {
                self.shut(index);
            }
            _ => {}
        }
        // If the kernel cannot say it, the sender is not held to be dead.
        if self.file.holder(LOCK_SLOTS + index as i64).unwrap_or(Holder::This) != Holder::Nobody {
            return;
        }
        // Its lock is gone; but it may have closed properly between the two looks.
        let state = self.map.half(at).load(Ordering::Acquire);
        match self.lanes[index].state {
            // It died while setting up, or before it could ring.
            State::Vacant if state == OPEN || state == CLOSED => self.wake(index),
            State::Vacant | State::Shut => return self.free(index),
            State::Active | State::Asleep => self.wake(index),
        }
        let lane = &mut self.lanes[index];
        lane.leaving = lane.leaving.or(Some(Departure::Died));
        self.untidy = true;
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}
