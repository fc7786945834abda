//! The endpoint as others see it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::address::Address;
use crate::api::{Buffer, Claim, Completion, Found, Peer, PostError, Probe, RecvArgs, SendArgs};

/// How an endpoint is to be opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Identity address; found by itself if `None`.
    pub identity: Option<IpAddr>,
    /// Where the host's rails are written down; `/run/tasuki/rails.json` if `None`.
    pub rails: Option<PathBuf>,
    /// Shared memory may be used.
    pub shm: bool,
    /// Room for messages that nobody has asked for, bytes.
    pub pool_bytes: u64,
    /// Peers to reckon with from the start.
    pub expected_peers: u32,
    /// How long closing waits for the last acknowledgement.
    pub linger: Duration,
}

/// Why an endpoint cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No randomness.
    #[error("the kernel gives no random numbers: {0}")]
    Random(String),
}

/// One end of conversations.
pub struct Endpoint {
    address: Address,
}

#[allow(unused_variables, missing_docs, clippy::missing_safety_doc)]
impl Endpoint {
    pub fn open(options: Options) -> Result<Endpoint, OpenError> {
        todo!()
    }
    pub fn address(&self) -> Address {
        self.address
    }
    pub fn add_peer(&self, address: &Address) -> Peer {
        todo!()
    }
    pub fn peer_address(&self, peer: Peer) -> Option<Address> {
        todo!()
    }
    pub fn remove_peer(&self, peer: Peer) {
        todo!()
    }
    pub unsafe fn send(&self, send: &SendArgs<'_>) -> Result<(), PostError> {
        todo!()
    }
    pub unsafe fn recv(&self, recv: &RecvArgs<'_>) -> Result<(), PostError> {
        todo!()
    }
    pub fn peek(&self, probe: &Probe) -> Option<Found> {
        todo!()
    }
    pub fn claim(&self, probe: &Probe) -> Option<(Claim, Found)> {
        todo!()
    }
    pub fn discard(&self, probe: &Probe) -> Option<Found> {
        todo!()
    }
    pub unsafe fn recv_claimed(
        &self,
        claim: Claim,
        buffers: &[Buffer],
        quiet: bool,
        context: u64,
    ) -> Result<(), PostError> {
        todo!()
    }
    pub fn discard_claimed(&self, claim: Claim) -> Result<(), PostError> {
        todo!()
    }
    pub fn cancel(&self, context: u64) -> bool {
        todo!()
    }
    pub fn progress(&self) {
        todo!()
    }
    pub fn poll(&self) -> Option<Completion> {
        todo!()
    }
    pub fn wait(&self, timeout: Option<Duration>) {
        todo!()
    }
    pub fn describe(&self) -> String {
        todo!()
    }
    pub fn close(self) {
        todo!()
    }
}

impl Options {
    /// From the environment.
    pub fn from_env() -> Options {
        Options {
            identity: None,
            rails: None,
            shm: true,
            pool_bytes: 16 << 20,
            expected_peers: 1,
            linger: Duration::from_secs(10),
        }
    }
}
