//! The connections of one endpoint.
#![allow(unused_variables, dead_code, missing_docs)]

use tasuki_wire::{DropReason, Rail};

use crate::config::Config;
use crate::defect::Plant;
use crate::event::{Event, Transmit};
use crate::ids::{ConnId, Local, Remote};
use crate::stats::{Drops, RailStats};
use crate::time::Time;
use crate::upper::Upper;

/// All connections of one local endpoint.
pub struct Proto {
    local: Local,
    config: Config,
    drops: Drops,
    plant: Plant,
}

impl Proto {
    pub fn new(local: Local, config: Config, seed: u64) -> Proto {
        Proto { local, config, drops: Drops::new(), plant: Plant::NONE }
    }
    #[cfg(feature = "defects")]
    pub fn plant(&mut self, defect: Option<crate::Defect>) {
        self.plant = Plant(defect);
    }
    pub fn connect(&mut self, now: Time, remote: Remote, rails: &[Rail]) -> ConnId {
        todo!()
    }
    pub fn find(&self, endpoint: u32, incarnation: u64) -> Option<ConnId> {
        todo!()
    }
    pub fn handle_packet(
        &mut self,
        now: Time,
        datagram: &[u8],
        upper: &mut impl Upper,
    ) -> Result<(), DropReason> {
        todo!()
    }
    pub fn wake(&mut self, conn: ConnId) {
        todo!()
    }
    pub fn poll_transmit(
        &mut self,
        now: Time,
        packet: &mut [u8],
        upper: &mut impl Upper,
    ) -> Option<Transmit> {
        todo!()
    }
    pub fn deadline(&self) -> Option<Time> {
        todo!()
    }
    pub fn handle_timeout(&mut self, now: Time) {
        todo!()
    }
    pub fn poll_event(&mut self) -> Option<Event> {
        todo!()
    }
    pub fn set_rails(&mut self, now: Time, conn: ConnId, rails: &[Rail]) {
        todo!()
    }
    pub fn remote_rail(&self, conn: ConnId, rail: u8) -> Option<&Rail> {
        todo!()
    }
    /// Largest inline payload of a Start, bytes. The same for the whole life of a connection.
    pub fn start_room(&self, conn: ConnId) -> usize {
        todo!()
    }
    pub fn is_drained(&self, conn: ConnId) -> bool {
        todo!()
    }
    pub fn abort(&mut self, conn: ConnId, upper: &mut impl Upper) {
        todo!()
    }
    pub fn close(&mut self, conn: ConnId) {
        todo!()
    }
    pub fn rail_stats(&self, conn: ConnId) -> impl Iterator<Item = RailStats> {
        std::iter::empty()
    }
    pub fn drops(&self) -> &Drops {
        &self.drops
    }
    pub fn describe(&self, conn: ConnId) -> String {
        todo!()
    }
}
