//! Senders as they come, fall asleep, and go.
//!
//! A sender rings its doorbell when it comes, when it goes, and when it pushes while the bell is armed. That
//! its process died shows in its lock.

use crate::file::Holder;
use crate::lane::LaneState;
use crate::layout::*;
use crate::segment::{Next, Segment};
use crate::sync::{Ordering, fence};
use crate::{Departure, Slot, Token};
use tasuki_tuning::segments;

impl Segment {
    /// Takes up the lanes whose senders have rung.
    pub(crate) fn answer_bells(&mut self) {
        if self.map.word(AT_RUNG).load(Ordering::Relaxed) == 0 {
            return;
        }
        // Taken before the bells: a sender that rings after this is found now or at the next visit.
        let words = self.map.word(AT_RUNG).swap(0, Ordering::AcqRel);
        let geometry = self.geometry;
        for word in bits(words).filter(|&word| word < geometry.bells()) {
            let rung = self.map.word(geometry.bell(word)).swap(0, Ordering::AcqRel);
            // Pairs with the exchange in `Outbox::fill`: a sender that saw its bell still rung has published
            // its record before, and we look for it after this.
            fence(Ordering::SeqCst);
            for index in bits(rung).map(|bit| word * 64 + bit).filter(|&index| index < geometry.peers) {
                self.wake(index);
            }
        }
    }

    /// Takes up the lane of a sender that has rung, or that `reap` has found.
    fn wake(&mut self, index: usize) {
        let slot = self.geometry.slot(index);
        let state = self.map.half(slot + SLOT_STATE).load(Ordering::Acquire);
        let lane = &mut self.lanes[index];
        match lane.state {
            LaneState::Vacant if state == OPEN || state == CLOSED => {
                let mut bytes = [0; 16];
                self.map.copy_out(slot + SLOT_TOKEN, &mut bytes);
                lane.token = Token::from_bytes(bytes);
                self.stats.arrived += 1;
            }
            LaneState::Asleep | LaneState::Active => {}
            LaneState::Shut if state == CLOSED => return self.free(index),
            LaneState::Vacant | LaneState::Shut => return,
        }
        if state == CLOSED {
            lane.leaving = lane.leaving.or(Some(Departure::Closed));
        }
        self.untidy |= lane.leaving.is_some();
        if lane.state != LaneState::Active {
            lane.state = LaneState::Active;
            lane.idle_visits = 0;
            self.active.push(index as u32);
            self.map.half(slot + SLOT_ARMED).store(0, Ordering::Relaxed);
        }
    }

    /// Lets idle lanes sleep, and empty lanes of departed senders go.
    pub(crate) fn tidy(&mut self) {
        // It is set again below for lanes that leave: they are visited until their rings are empty.
        self.untidy = false;
        let mut at = 0;
        while at < self.active.len() {
            let index = self.active[at] as usize;
            let lane = self.lanes[index];
            if lane.state != LaneState::Active {
                self.active.swap_remove(at);
            } else if lane.leaving.is_some() && matches!(self.next(index), Next::Empty) {
                self.active.swap_remove(at);
                self.depart(index);
            } else if lane.idle_visits > segments::IDLE_VISITS_MAX && self.sleep(index) {
                self.active.swap_remove(at);
            } else {
                self.untidy |= lane.leaving.is_some();
                at += 1;
            }
        }
    }

    /// Arms the doorbell and lets the lane sleep. Returns false, and leaves it awake, if a record has come
    /// meanwhile.
    fn sleep(&mut self, index: usize) -> bool {
        let armed = self.geometry.slot(index) + SLOT_ARMED;
        self.map.half(armed).store(1, Ordering::Relaxed);
        // Pairs with the exchange in `Outbox::fill`: either the sender sees the bell armed, or we see its
        // record.
        fence(Ordering::SeqCst);
        if matches!(self.next(index), Next::Empty) {
            self.lanes[index].state = LaneState::Asleep;
            return true;
        }
        self.map.half(armed).store(0, Ordering::Relaxed);
        self.lanes[index].idle_visits = 0;
        false
    }

    fn slot_of(&self, index: usize) -> Slot {
        Slot { index: index as u32, generation: self.lanes[index].generation }
    }

    /// Keeps a departure for `reap` to report. If too many wait, the oldest is forgotten.
    fn keep_departure(&mut self, index: usize, departure: Departure) {
        if self.departures.len() == segments::DEPARTURES_MAX {
            self.departures.pop_front();
        }
        self.departures.push_back((self.slot_of(index), self.lanes[index].token, departure));
        self.stats.departed += 1;
    }

    /// Reads nothing more from a slot whose ring is corrupt. The slot is free once its sender has gone.
    pub(crate) fn shut(&mut self, index: usize) {
        self.lanes[index].state = LaneState::Shut;
        self.untidy = true;
        self.stats.corrupt += 1;
        self.keep_departure(index, Departure::Corrupt);
        let slot = self.geometry.slot(index);
        // The bell is armed so that the sender rings when it closes.
        self.map.half(slot + SLOT_ARMED).store(1, Ordering::Relaxed);
        self.map.half(slot + SLOT_SHUT).store(1, Ordering::Release);
    }

    /// Frees the slot of a sender that has gone and whose ring is empty.
    fn depart(&mut self, index: usize) {
        if let Some(departure) = self.lanes[index].leaving {
            self.keep_departure(index, departure);
        }
        self.free(index);
    }

    /// Makes the slot as it was at the beginning. Its ring keeps its memory for the next sender.
    fn free(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        lane.generation = lane.generation.wrapping_add(1);
        lane.state = LaneState::Vacant;
        lane.leaving = None;
        lane.position = 0;
        let slot = self.geometry.slot(index);
        self.map.word(slot + SLOT_TAIL).store(0, Ordering::Relaxed);
        self.map.half(slot + SLOT_SHUT).store(0, Ordering::Relaxed);
        self.map.half(slot + SLOT_ARMED).store(1, Ordering::Relaxed);
        self.map.half(slot + SLOT_STATE).store(FREE, Ordering::Release);
    }

    /// Looks for senders that have closed or died, and reports each once, after all that it sent has been
    /// received. It makes one system call per sender: call it about once per second.
    pub fn reap(&mut self, mut each: impl FnMut(Slot, Token, Departure)) {
        if self.map.is_here() {
            for index in 0..self.lanes.len() {
                self.check_sender(index);
            }
            self.tidy();
        }
        while let Some((slot, token, departure)) = self.departures.pop_front() {
            each(slot, token, departure);
        }
    }

    /// Whether a slot belongs to the sender with this token: it may still write there, or something that it
    /// has written is still to be received.
    pub fn has_sender(&self, token: &Token) -> bool {
        self.slots_of(token).next().is_some()
    }

    /// Whether the sender with this token has gone, by closing its outbox or with its process, and something
    /// that it has written may still be to be received (a system call).
    pub fn has_left_rest(&self, token: &Token) -> bool {
        // A sender of which the kernel cannot say anything is not held to be dead.
        let is_dead =
            |index| self.file.holder(LOCK_SLOTS + index as i64).unwrap_or(Holder::This) == Holder::Nobody;
        self.slots_of(token).any(|(index, state)| state == CLOSED || is_dead(index))
    }

    /// The slots that the sender with this token has, and the state of each.
    fn slots_of(&self, token: &Token) -> impl Iterator<Item = (usize, u32)> {
        let slots = if self.map.is_here() { self.geometry.peers } else { 0 };
        (0..slots).filter_map(|index| {
            let slot = self.geometry.slot(index);
            let state = self.map.half(slot + SLOT_STATE).load(Ordering::Acquire);
            let mut theirs = [0; 16];
            self.map.copy_out(slot + SLOT_TOKEN, &mut theirs);
            let is_theirs = matches!(state, OPEN | CLOSED) && Token::from_bytes(theirs) == *token;
            is_theirs.then_some((index, state))
        })
    }

    /// Finds out whether the sender of a slot has closed or died, and if so prepares the slot to be freed.
    fn check_sender(&mut self, index: usize) {
        let at = self.geometry.slot(index) + SLOT_STATE;
        let state = self.map.half(at).load(Ordering::Acquire);
        let lane = &self.lanes[index];
        let known = matches!(lane.state, LaneState::Active | LaneState::Asleep);
        match state {
            FREE if lane.state == LaneState::Vacant => return,
            CLOSED => return self.wake(index),
            // A slot that was open never goes back to another state but closed.
            state if known && state != OPEN => {
                self.shut(index);
            }
            _ => {}
        }
        // A sender of which the kernel cannot say anything is not held to be dead.
        if self.file.holder(LOCK_SLOTS + index as i64).unwrap_or(Holder::This) != Holder::Nobody {
            return;
        }
        // Its lock is gone; but it may have closed properly between the two loads of the state.
        let state = self.map.half(at).load(Ordering::Acquire);
        match self.lanes[index].state {
            // The sender died after it had opened the slot and before it could ring.
            LaneState::Vacant if state == OPEN || state == CLOSED => self.wake(index),
            LaneState::Vacant | LaneState::Shut => return self.free(index),
            LaneState::Active | LaneState::Asleep => self.wake(index),
        }
        let lane = &mut self.lanes[index];
        lane.leaving = lane.leaving.or(Some(Departure::Died));
        self.untidy = true;
    }
}

/// The numbers of the bits that are set in `word`, the lowest first.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}
