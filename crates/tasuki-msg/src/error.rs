//! Errors: faults of the caller, faults of a peer, and the ways in which an operation fails.

use std::error::Error;
use std::fmt;

use crate::ids::{MsgSeq, PeerId};

/// Why a peer is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The engine has evidence that it died, or that it breaks the protocol.
    Failed,
    /// One of the two sides said goodbye.
    Closed,
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The program cancelled it in time.
    Cancelled,
    /// The peer of the operation is gone.
    PeerGone(PeerId, Gone),
}

/// The caller named a peer that was never added or has been forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPeer(pub PeerId);

/// Why a claimed message cannot be received or discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// No message is claimed under this id: it was received or discarded before.
    Unknown,
    /// The message was lost with its sender. The claim has ended.
    PeerGone(PeerId, Gone),
}

/// Why a frame was dropped. Except for `PeerGone`, which is normal after a failure, each is a breach of the
/// protocol or of the carrier's promise to deliver once, so the engine should declare the peer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// There is no such peer.
    UnknownPeer(PeerId),
    /// The peer is gone, so its frames are of no use.
    PeerGone(PeerId),
    /// A `Start` of this message has arrived before.
    DuplicateStart(MsgSeq),
    /// Lengths, flags or totals contradict each other or what came before.
    Malformed(&'static str),
    /// The message has more payload than the sender has credit for.
    OverCredit(MsgSeq),
    /// The payload was not granted, or has arrived before.
    NotGranted(MsgSeq),
    /// The frame is about a message that is not under way.
    UnknownMessage(MsgSeq),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gone::Failed => "failed",
            Gone::Closed => "closed its end",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Cancelled => f.write_str("cancelled by the program"),
            Failure::PeerGone(peer, gone) => write!(f, "{peer} {gone}"),
        }
    }
}

impl fmt::Display for UnknownPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was never added or has been forgotten: add the peer first", self.0)
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Unknown => f.write_str("nothing is claimed under this id: probe again"),
            ClaimError::PeerGone(peer, gone) => write!(f, "the claimed message is lost: {peer} {gone}"),
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::UnknownPeer(peer) => write!(f, "frame from {peer}, which was never added"),
            FrameError::PeerGone(peer) => write!(f, "frame from {peer}, which is gone"),
            FrameError::DuplicateStart(seq) => write!(f, "message {} began twice", seq.0),
            FrameError::Malformed(what) => write!(f, "contradictory frame: {what}"),
            FrameError::OverCredit(seq) => write!(f, "message {} exceeds the sender's credit", seq.0),
            FrameError::NotGranted(seq) => write!(f, "message {}: payload that was not asked for", seq.0),
            FrameError::UnknownMessage(seq) => write!(f, "message {} is not under way", seq.0),
        }
    }
}

impl Error for Failure {}
impl Error for UnknownPeer {}
impl Error for ClaimError {}
impl Error for FrameError {}
